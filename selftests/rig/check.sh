# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests of scripts that need no test host. Needs scripts/lib.sh; WHAT names them. WORK
# is a directory that goes at the end.

PASSED=0
FAILED=0
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

fail()
{
	echo "# $*"
	return 1
}

# check FUNCTION
check()
{
	if (set +e; "$1") > "$WORK/log" 2>&1; then
		PASSED=$((PASSED + 1))
		echo "ok - $WHAT: $1"
	else
		FAILED=$((FAILED + 1))
		sed 's/^\(# \)\?/# /' "$WORK/log"
		echo "not ok - $WHAT: $1"
	fi
}
