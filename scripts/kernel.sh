# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For scripts that build a kernel of Debian's source, out of its tree: from tinyconfig and
# some options on top. Needs lib.sh, and of the caller: DIR, where it is built, settings,
# which prints the options, and kmake, which runs the kernel's make there.

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

objects()
{
	find "$DIR" -name '*.o' | wc -l
}

# build_kernel TEXT OBJECTS COMMAND...: with its log and how far it is
build_kernel()
{
	local text=$1 total=$2 log=$DIR/build.log

	shift 2
	rm -rf "$DIR"
	mkdir -p "$DIR"
	info "building $text, once: some minutes"
	watch_begin "$text, objects" "$total" objects
	if ! { configure && "$@"; } > "$log" 2>&1; then
		tail -n 25 "$log" >&2
		die "building $text failed; see $log"
	fi
	watch_end
	tidy
}
