#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs a test with each QEMU that this checkout has, or with those named:
# run.sh TEST [QEMU...]; ends in "N passed, N failed, N skipped".
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../../scripts/lib.sh"

TEST=$1
shift
if [ $# -eq 0 ]; then
	set -- qemu-system-x86_64
	if is_made qemu10; then
		set -- "$@" "$BUILD/qemu10/usr/bin/qemu-system-x86_64"
	else
		echo "# SKIP qemu_hostile_test: QEMU 10.0: scripts/setup.sh 6.12 unpacks it"
	fi
fi

for qemu; do
	status=0
	echo "## ${TEST##*/} ($("$qemu" --version 2>&1 | sed -n '1s/ emulator version\| (.*//gp'))"
	KSFT_NO_KMSG=1 QEMU=$qemu "$TEST" || status=$?
	# all passed, some failed, all skipped
	[[ $status =~ ^[014]$ ]] || echo "not ok ${TEST##*/}: status $status"
done | tee "$TEST.log"
awk '/^ok / { n[/# SKIP/ ? "skipped" : "passed"]++ } /^not ok / { n["failed"]++ }
	END {
		printf "%d passed, %d failed, %d skipped\n", n["passed"], n["failed"], n["skipped"]
		exit n["failed"] || !n["passed"]
	}' "$TEST.log"
