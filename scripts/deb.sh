#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds the Debian packages kvnet-dkms and kvnet-tools, and their source package, with
# dpkg-buildpackage in build/deb. What they are made from is in tools/packaging/debian;
# here a source tree gets it as debian/, with a changelog made from ours.
#
#   scripts/deb.sh [--source-tree]     only the tree, build/deb/kvnet-VERSION
#
#   VERSION=    instead of that of scripts/version.sh
#   OUT=        instead of build/deb
#
# On Debian 12 and 13; as root it installs what it lacks.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

files()
{
	# not where there is no git, or it takes the checkout for somebody else's
	if [ -e "$TOP/.git" ] && git -C "$TOP" rev-parse HEAD > /dev/null 2>&1; then
		git -C "$TOP" ls-files -z --cached --others --exclude-standard
	else
		(cd "$TOP" && find . \( -path ./build -o -path ./debian -o -path ./.git \) -prune -o \
			-type f ! -name '*.o' ! -name '*.ko' ! -name '*.cmd' ! -name '*.mod*' ! -name '*.pyc' -print0)
	fi
}

# the items under the newest heading, in lines that a Debian changelog may have
newest_changes()
{
	awk 'function item() { if (text != "") print text; text = "" }
		/^=+$/ && ++rules == 3 { on = 1; next }
		on && /^[0-9]+(\.[0-9]+)+( |$)/ { exit }
		!on || !NF || /^=/ { next }
		{ gsub(/``/, "") }
		/^\* / { item(); text = $0; next }
		{ sub(/^ +/, ""); text = text " " $0 }
		END { item() }' "$TOP/Documentation/CHANGELOG.rst" | fold -s -w 74 | sed -E 's/ +$//; /^\* /!s/^/  /; s/^/  /'
}

changelog()
{
	printf 'kvnet (%s) unstable; urgency=medium\n\n' "$VERSION"
	newest_changes
	printf '\n -- %s  %s\n' "$(sed -n 's/^Maintainer: //p' "$TOP/tools/packaging/debian/control")" "$(date -u -R -d "@$EPOCH")"
}

make_tree()
{
	rm -rf "$OUT"/kvnet-*/
	mkdir -p "$TREE"
	files | (cd "$TOP" && xargs -0 sh -c 'for file; do [ ! -e "$file" ] || printf "%s\0" "$file"; done' sh) |
		tar -C "$TOP" --null -T - -c | tar -C "$TREE" -x
	cp -r "$TREE/tools/packaging/debian" "$TREE/debian"
	mkdir -p "$TREE/debian/source"
	echo '3.0 (native)' > "$TREE/debian/source/format"
	changelog > "$TREE/debian/changelog"
}

main()
{
	VERSION=$("$TOP/scripts/version.sh")
	EPOCH=$("$TOP/scripts/version.sh" --date)
	OUT=${OUT:-$BUILD/deb}
	TREE=$OUT/kvnet-$VERSION
	mkdir -p "$OUT"
	[ "${1:-}" = --source-tree ] || "$TOP/scripts/setup.sh" --deb
	hold deb
	make_tree
	if [ "${1:-}" = --source-tree ]; then
		echo "$TREE"
		return
	fi
	# one version: the README's pattern is to find no other
	rm -f "$OUT"/kvnet*.{deb,dsc,changes,buildinfo,tar.*}
	(cd "$TREE" && env -u MAKEFLAGS -u MFLAGS -u MAKEOVERRIDES -u DESTDIR -u PREFIX SOURCE_DATE_EPOCH="$EPOCH" dpkg-buildpackage -us -uc) > "$OUT/build.log" 2>&1 ||
		{ tail -n 20 "$OUT/build.log" >&2; die "dpkg-buildpackage failed; all it said is in $OUT/build.log"; }
	rm -rf "$TREE"
	(cd "$OUT" && ls -1 kvnet*_"$VERSION"*.deb kvnet_"$VERSION".dsc) | sed "s,^,$OUT/,"
}

main "$@"
