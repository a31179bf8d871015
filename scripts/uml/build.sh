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
# shellcheck source=scripts/kernel.sh
. "$(dirname "$0")/../kernel.sh"

settings()
{
	sed '/^CONFIG/!d' "$TOP/scripts/uml/base.config" "$TOP/scripts/uml/$FLAVOUR.config"
}

kmake()
{
	make -s -C "$BUILD/uml-src" ARCH=um "${FLAGS[@]}" O="$DIR" "$@"
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
	kmake -j"$(nproc)" linux modules && kmake INSTALL_MOD_PATH="$DIR/root" modules_install
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
	build_kernel "User-Mode Linux ($FLAVOUR)" "$OBJECTS" build
	relocate
	info "built User-Mode Linux ($FLAVOUR)"
	step_done
}

main "$@"
