#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Is each index that the driver or the VMM has a say in masked in the object code, too
# (check-nospec.py)? Looks at the module as built for a kernel series, and then, so that
# nobody has to believe in it, at builds that lack one mask each.
#
#   scripts/check-nospec.sh 6.12 | 6.1
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

look()
{
	python3 -B "$TOP/scripts/check-nospec.py" "$1/drivers/kvnet/$2.o" "$3" ${4:+"$4"}
}

# look DIRECTORY OBJECT FUNCTION [REGISTER]: which holds what the VMM has said
# must_be_found OBJECT FUNCTION SED-SCRIPT [REGISTER]: without its mask
must_be_found()
{
	local file=drivers/kvnet/$1.c dir=$BUILD/mod-unmasked

	rm -rf "$dir"
	mkdir -p "$dir"
	cp -r "$DIR/Kbuild" "$DIR/include" "$dir"
	mkdir -p "$dir/drivers/kvnet"
	cp "$DIR"/drivers/kvnet/{Kbuild,*.[ch]} "$dir/drivers/kvnet"
	sed -i "$3" "$dir/$file"
	if cmp -s "$TOP/$file" "$dir/$file"; then
		echo "$file: no mask there that \"$3\" would take away"
		return 1
	fi
	make -s -C "$HEADERS" M="$dir" "drivers/kvnet/$1.o" > "$dir/build.log" 2>&1 || { cat "$dir/build.log"; return 1; }
	if look "$dir" "$1" "$2" "${4:-}" > /dev/null; then
		echo "$file: \"$3\" takes a mask away, and nothing is found"
		return 1
	fi
}

main()
{
	local bad=0

	[ $# -eq 1 ] || die "usage: check-nospec.sh <one of: $SERIES_ALL>"
	check_series "$1"
	DIR=$BUILD/mod-$1
	HEADERS=$(kernel_headers "$1")
	look "$DIR" ring_split kvnet_split_next || bad=1
	look "$DIR" chain kvnet_chain_add_table || bad=1
	must_be_found ring_split kvnet_split_next 's/at & (KVNET_RING_PREFETCH - 1)/at/' || bad=1
	must_be_found ring_split kvnet_split_next '/^\ti &= r->num - 1;$/d' || bad=1
	look "$DIR" ring_plain kvnet_split_next_plain || bad=1
	must_be_found ring_plain kvnet_split_next_plain '/^\t\thead &= r->num - 1;$/d' || bad=1
	must_be_found chain kvnet_chain_add_table 's/array_index_nospec(\(i - first\), INDIRECT_CHUNK)/\1/' || bad=1
	look "$DIR" ioctl kvnet_ioctl || bad=1
	must_be_found ioctl kvnet_ioctl '/index = array_index_nospec(index, KVNET_QUEUES);/d' || bad=1
	look "$DIR" crew kvnet_crew_free si || bad=1
	look "$DIR" crew kvnet_crew_attach dx || bad=1
	must_be_found crew kvnet_crew_free '/^\tid = array_index_nospec(id, KVNET_CREW_WORKERS);$/d' si || bad=1
	must_be_found crew kvnet_crew_attach 's/array_index_nospec(id, KVNET_CREW_WORKERS)/id/' dx || bad=1
	return $bad
}

main "$@"
