# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For scripts that get Debian packages to unpack them, also of other releases than this
# machine's. Needs lib.sh.

# its output is for those whom it fails
quiet()
{
	"$@" >> "$BUILD/apt.log" 2>&1
}

# its last error, in front of where all that it said is
apt_error()
{
	printf '%s' "$(tail -n 20 "$BUILD/apt.log" | sed -n 's/^E: \(.*[^. ]\)[. ]*$/\1; /p' | tail -n 1)see $BUILD/apt.log"
}

apt_update()
{
	info "refreshing the package lists" >&2
	watched "package lists" "" -- locked "$APT_LOCK" quiet apt-get update -q ||
		die "apt-get update failed ($(apt_error)); repair apt or the network, then run again"
}

# what apt would fetch: its file, and how many bytes it has
deb_offered()
{
	local pkg=$1

	shift
	apt-get "$@" download -q --print-uris "$pkg" 2>/dev/null | awk 'NR == 1 { print $2, $3 }'
}

# apt_download PACKAGE... into the current directory
apt_download()
{
	quiet apt-get "${APT_OPTIONS[@]}" -o APT::Sandbox::User=root download -q "$@"
}

# download one package unless its exact file is there; prints the file's name
fetch_deb()
{
	local pkg=$1 APT_OPTIONS=("${@:2}") file bytes dir=$DEBS/$1.$$

	read -r file bytes < <(deb_offered "$@") || true
	if [ -z "$file" ] && [ $# -eq 1 ]; then
		apt_update
		read -r file bytes < <(deb_offered "$@") || true
	fi
	[ -n "$file" ] || die "apt does not offer $pkg; run apt-get update and look at apt-cache policy $pkg"
	file=$(printf '%b' "${file//%/\\x}")
	if [ ! -s "$DEBS/$file" ]; then
		mkdir -p "$dir"
		# apt names the file with its version's colon escaped
		(cd "$dir" && watched "downloading $pkg, MB" $((bytes >> 20)) megabytes_in . -- apt_download "$pkg") ||
			die "downloading $pkg failed ($(apt_error)); check the network, then run again"
		mv "$dir"/*.deb "$DEBS/"
		rmdir "$dir"
	fi
	deb_path "$pkg" "$file"
}

deb_path()
{
	local path

	for path in "$DEBS/$2" "$DEBS/$1"_*.deb; do
		[ -s "$path" ] && { echo "$path"; return; }
	done
	die "downloaded file of $1 not found in $DEBS"
}

# the mirror that the system's own sources name, for another suite of it
system_mirror()
{
	# shellcheck disable=SC2016 # apt expands these
	apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN)' 'Created-By: Packages' |
		awk '$2 == "bookworm" && $3 == "Debian" { print $1; exit }'
}

# backports_config SUITE...
backports_config()
{
	local dir=$CACHE/apt/$1 mirror

	mirror=$(system_mirror)
	[ -n "$mirror" ] || return 1
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
	printf "deb $mirror %s main\n" "$@" > "$dir/sources.list"
	BPO=(-o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=-
		-o "Dir::State::lists=$dir/lists" -o "Dir::Cache=$dir/cache"
		-o "APT::Sandbox::User=root")
	watched "package lists of $*" "" -- locked "$APT_LOCK" quiet apt-get "${BPO[@]}" update -q
}

# bpo_has PACKAGE...: can they be had with the configuration BPO?
bpo_has()
{
	apt-get "${BPO[@]}" download -q --print-uris "$@" > /dev/null 2>&1
}

# What is of the next release needs libraries of the next release. unpack_with_needs DIR
# MB WHAT PACKAGE...: these packages and all that they need, as if nothing were installed,
# unpacked into DIR. BPO says from where, see backports_config. Fails if apt does not
# offer them.
unpack_with_needs()
{
	local dir=$1 megabytes=$2 what=$3 APT_OPTIONS debs pkg

	shift 3
	rm -rf "$dir" "$dir.debs"
	mkdir -p "$dir"/usr/{bin,sbin,lib,lib64} "$dir"/{proc,dev,tmp}
	for pkg in bin sbin lib lib64; do
		ln -s "usr/$pkg" "$dir/$pkg"
	done
	: > "$dir.status"
	APT_OPTIONS=("${BPO[@]}" -o "Dir::State::status=$dir.status")
	debs=$(apt-get "${APT_OPTIONS[@]}" install -s --no-install-recommends "$@" 2>> "$BUILD/apt.log" | awk '$1 == "Inst" { print $2 "=" substr($3, 2) }')
	[ -n "$debs" ] || return 1
	mkdir "$dir.debs"
	# shellcheck disable=SC2086 # a list of words
	(cd "$dir.debs" && watched "downloading $what, MB" "$megabytes" megabytes_in . -- apt_download $debs) ||
		die "downloading failed (see $BUILD/apt.log); check the network, then run again"
	for pkg in "$dir.debs"/*.deb; do
		dpkg -x "$pkg" "$dir" || die "unpacking $pkg failed; run again"
	done
	rm -rf "$dir.debs" "$dir.status"
}
