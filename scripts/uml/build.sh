#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds a User-Mode Linux kernel and its modules, once, under build/: "uml" with
# everything that looks for bugs, "uml-fast" to measure with. Another source,
# configuration or patch builds it again.
#
#   scripts/uml/build.sh uml | uml-fast
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

settings()
{
	sed '/^CONFIG/!d' "$TOP/scripts/uml/base.config" "$TOP/scripts/uml/$FLAVOUR.config"
}

kmake()
{
	make -s -C "$BUILD/uml-src" ARCH=um "${FLAGS[@]}" O="$DIR" "$@"
}

# An option that the kernel drops in silence would be a check that is not made.
check_config()
{
	local line lost=''

	while read -r line; do
		case $line in
		*=n) ! grep -q "^${line%=n}=" "$DIR/.config" || lost="$lost $line" ;;
		*) grep -qxF "$line" "$DIR/.config" || lost="$lost $line" ;;
		esac
	done < <(settings)
	[ -z "$lost" ] || die "the kernel does not take these options:$lost"
}

configure()
{
	kmake tinyconfig && settings >> "$DIR/.config" && kmake olddefconfig && check_config
}

# Object files make up most of what a build leaves, and modules need none.
tidy()
{
	find "$DIR" -name '*.o' ! -path '*/scripts/*' -delete
	find "$DIR" \( -name '.*.cmd' -o -name '*.a' -o -name '.tmp_vmlinux*' -o -name vmlinux \) \
		! -path '*/scripts/*' -delete
}

# What builds modules names the source by an absolute path; the two are beside each other.
relocate()
{
	echo 'include ../uml-src/Makefile' > "$DIR/Makefile"
	ln -sfn ../uml-src "$DIR/source"
	rm -f "$DIR"/root/lib/modules/*/{build,source}
}

build()
{
	local log=$DIR/build.log

	rm -rf "$DIR"
	mkdir -p "$DIR"
	info "building User-Mode Linux ($FLAVOUR), once: some minutes"
	watch_begin "User-Mode Linux ($FLAVOUR), objects" "$OBJECTS" files_in "$DIR" .o
	if ! { configure && kmake -j"$(nproc)" linux modules && kmake INSTALL_MOD_PATH="$DIR/root" modules_install; } > "$log" 2>&1; then
		tail -n 25 "$log" >&2
		die "building User-Mode Linux failed; see $log"
	fi
	watch_end
	tidy
	relocate
	info "built User-Mode Linux ($FLAVOUR)"
}

main()
{
	local name=${1:-} input

	case $name in
	uml) FLAVOUR=debug OBJECTS=850 ;;
	uml-fast) FLAVOUR=fast OBJECTS=800 ;;
	*) die "usage: build.sh uml | uml-fast" ;;
	esac
	DIR=$BUILD/$name
	read -ra FLAGS < <(uml_flags "$name")
	"$TOP/scripts/setup.sh" --source
	input="$(cat "$STAMPS/uml-source") $(settings | sha256sum) $(gcc -dumpfullversion)${FLAGS[*]:+ ${FLAGS[*]}}"
	step_needed "$name" "$input" || return 0
	build
	step_done
}

main "$@"
