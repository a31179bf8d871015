# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For setup.sh: what "make build-matrix" builds the module with beyond the kernels'
# own headers: those for arm64, and, of each, a copy that is told that clang has built
# the kernel. They lie beside the others, so that all share what is common to them.

# shellcheck disable=SC2034 # for setup.sh
CROSS_PACKAGES="gcc-aarch64-linux-gnu libc6-dev-arm64-cross
clang-$CLANG lld-$CLANG qemu-user"
# for the newest kernel, in its root: its own gcc for arm64
CROSS_BUILDER_PACKAGES="clang-$CLANG lld-$CLANG gcc-14-aarch64-linux-gnu"

# What Debian's headers say of gcc that is not so, or goes by another name, with clang.
# Two have a like: objtool notes ftrace's calls, and array-bounds is a sanitizer.
OF_GCC='CC_IS_GCC|LD_IS_BFD|AS_IS_GNU|GCC_ASM_GOTO_OUTPUT_BROKEN|CC_HAS_(MIN|SANE)_FUNCTION_ALIGNMENT|CC_HAS_NAMED_AS(_FIXED_SANITIZERS)?|USE_X86_SEG_SUPPORT|CC_OPT_INLINE_MEMSET|CC_HAS_UBSAN_BOUNDS_STRICT'
OF_CLANG='CC_IS_CLANG LD_IS_LLD AS_IS_LLVM'

# headers_for_clang HEADERS: as HEADERS-clang
headers_for_clang()
{
	local dir=$1-clang file=include/config/auto.conf number=${CLANG}0000

	rm -rf "$dir"
	cp -a "$1" "$dir"
	sed -i -E -e "/^CONFIG_($OF_GCC)=/d" -e 's/^(CONFIG_FTRACE_MCOUNT_USE_)CC=/\1OBJTOOL=/' \
		-e 's/^(CONFIG_UBSAN_)BOUNDS_STRICT=/\1ARRAY_BOUNDS=/' \
		-e 's/^(CONFIG_(GCC|LD)_VERSION)=.*/\1=0/' -e "s/^(CONFIG_(CLANG|LLD|AS)_VERSION)=.*/\1=$number/" \
		-e 's/-Wimplicit-fallthrough=5/-Wimplicit-fallthrough/' "$dir/$file"
	# shellcheck disable=SC2086 # a list of words
	printf 'CONFIG_%s=y\n' $OF_CLANG >> "$dir/$file"
	file=include/generated/autoconf.h
	sed -i -E -e "/^#define CONFIG_($OF_GCC) /d" -e 's/^(#define CONFIG_FTRACE_MCOUNT_USE_)CC /\1OBJTOOL /' \
		-e 's/^(#define CONFIG_UBSAN_)BOUNDS_STRICT /\1ARRAY_BOUNDS /' \
		-e 's/^(#define CONFIG_(GCC|LD)_VERSION) .*/\1 0/' -e "s/^(#define CONFIG_(CLANG|LLD|AS)_VERSION) .*/\1 $number/" "$dir/$file"
	# shellcheck disable=SC2086 # a list of words
	printf '#define CONFIG_%s 1\n' $OF_CLANG >> "$dir/$file"
	# the Makefile of newer ones names its own directory
	sed -i "s,^\(KBUILD_OUTPUT=.*\),\1-clang," "$dir/Makefile"
}

# apt for arm64: the system's own sources, and backports of the next release
foreign_config()
{
	local dir=$CACHE/apt/arm64 mirror

	mirror=$(system_mirror)
	[ -n "$mirror" ] || return 1
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
	{
		# shellcheck disable=SC2016 # apt expands these
		apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN)' 'Created-By: Packages' |
			awk '$3 == "Debian" { print "deb", $1, $2, "main" }' | sort -u
		echo "deb $mirror trixie-backports main"
	} > "$dir/sources.list"
	# nothing of that architecture is installed
	: > "$dir/status"
	FOREIGN=(-o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=-
		-o "Dir::State::lists=$dir/lists" -o "Dir::Cache=$dir/cache" -o "Dir::State::status=$dir/status"
		-o APT::Sandbox::User=root -o APT::Architecture=arm64 -o APT::Architectures::=arm64)
	watched "package lists of arm64" "" -- quiet apt-get "${FOREIGN[@]}" update -q
}

# unpack_cross SERIES: also for a series whose headers lie in a root of their own
unpack_cross()
{
	local series=$1 release root=$BUILD/kernel-$1 src deb

	release=$(kernel_release "$series")
	[ "$series" != newest ] || root=$BUILD/root-newest
	src=$root/usr/src/linux-headers-${release%-amd64}
	# they went when the others were fetched anew
	[ -d "$src-arm64-clang" ] || rm -f "$CACHE/cross-$series"-*.made
	entry_needed "cross-$series" "$(made_as "${root##*/}") $(sha256sum < "$TOP/scripts/setup-cross.sh")" || return 0
	info "fetching and unpacking the headers of ${release%-amd64} for arm64, and those for clang"
	foreign_config || die "apt-get update failed (see $BUILD/apt.log); run again"
	deb=$(fetch_deb "linux-headers-${release%-amd64}-arm64" "${FOREIGN[@]}")
	rm -rf "$src-arm64"
	# not its links below /lib/modules: there is one kernel there
	dpkg --fsys-tarfile "$deb" | tar -x -C "$root" ./usr/src || die "unpacking $deb failed; delete it and run again"
	[ "$series" = newest ] || sed -i 's,^include /usr/src/,include ../,' "$src-arm64/Makefile"
	[ "$series" != newest ] || unpack_cross_builder
	headers_for_clang "$src-amd64"
	headers_for_clang "$src-arm64"
	entry_made
}

# clang, and gcc for arm64, into the root directory of unpack_builder: what apt would
# install there in addition
unpack_cross_builder()
{
	local dir=$BUILD/root-newest list=$BUILD/cross-newest debs pkg

	newest_config || die "apt-get update failed (see $BUILD/apt.log); run again"
	# shellcheck disable=SC2086 # a list of words
	debs=$(comm -13 <(newest_wants | sort) <(newest_wants $CROSS_BUILDER_PACKAGES | sort))
	[ -n "$debs" ] || die "apt does not offer $CROSS_BUILDER_PACKAGES; see $BUILD/apt.log"
	rm -rf "$list"
	mkdir "$list"
	# shellcheck disable=SC2034 # of setup.sh
	APT_OPTIONS=("${BPO[@]}")
	# shellcheck disable=SC2086 # a list of words
	(cd "$list" && watched "downloading compilers, MB" 110 megabytes_in . -- apt_download $debs) ||
		die "downloading failed (see $BUILD/apt.log); check the network, then run again"
	for pkg in "$list"/*.deb; do
		dpkg -x "$pkg" "$dir" || die "unpacking $pkg failed; run again"
	done
	rm -rf "$list"
}

# setup_cross SERIES...: after the kernels; the newest, too, where it can be had
setup_cross()
{
	local series

	for series; do
		unpack_cross "$series"
	done
	unpack_newest
	is_made kernel-newest || return 0
	unpack_builder
	unpack_cross newest
}
