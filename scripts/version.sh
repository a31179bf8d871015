#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The version of this tree, from its one place, the newest heading of
# Documentation/CHANGELOG.rst: "0.9", or, where that is "0.9 (unreleased)", one that sorts
# before it, with the time of the commit: "0.9~20261122.073849". VERSION=... overrides it.
#
#   scripts/version.sh           the version
#   scripts/version.sh --date    the commit's time, else the changelog's, in seconds
set -euo pipefail

TOP=$(cd "$(dirname "$0")/.." && pwd -P)
CHANGES=$TOP/Documentation/CHANGELOG.rst

# a tree without .git of its own may lie in somebody else's checkout
commit_time()
{
	[ -e "$TOP/.git" ] && git -C "$TOP" log -1 --format=%ct 2> /dev/null || stat -c %Y "$CHANGES"
}

version()
{
	local heading

	[ -z "${VERSION:-}" ] || { echo "$VERSION"; return; }
	heading=$(grep -m 1 -E '^[0-9]+(\.[0-9]+)+( |$)' "$CHANGES") ||
		{ echo "version.sh: no heading with a version in $CHANGES" >&2; exit 1; }
	if [[ $heading == *unreleased* ]]; then
		echo "${heading%% *}~$(date -u -d "@$(commit_time)" +%Y%m%d.%H%M%S)"
	else
		echo "${heading%% *}"
	fi
}

case ${1:-} in
'') version ;;
--date) commit_time ;;
*) echo "usage: version.sh [--date]" >&2; exit 1 ;;
esac
