#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Style and static checks; each prints what it finds, the last line says how many
# checks failed.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

DRIVER_CAP=450
OTHER_CAP=600
SERIES=6.12

source_files()
{
	git -C "$TOP" ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
		[ ! -e "$TOP/$file" ] || echo "$file"
	done
}

check_shell()
{
	local file files=()

	while read -r file; do
		head -n 3 "$TOP/$file" | grep -qE '^#!.*(bash|/sh)|shellcheck shell=' && files+=("$file")
	done < <(source_files scripts selftests .ci)
	(cd "$TOP" && shellcheck -x -S warning -e SC1091 "${files[@]}")
}

check_kernel_doc()
{
	local tool

	tool=$(kernel_headers $SERIES)/scripts/kernel-doc
	[ -x "$tool" ] || { echo "no kernel-doc in the headers: skipped"; return 0; }
	(cd "$TOP" && ! "$tool" -none drivers/kvnet/*.[ch] 2>&1 | grep -E 'warning|error')
}

check_sparse()
{
	"$TOP/scripts/build-module.sh" --sparse $SERIES
}

check_caps()
{
	local file lines cap bad=0

	while read -r file; do
		lines=$(wc -l < "$TOP/$file")
		cap=$OTHER_CAP
		[[ $file != drivers/* ]] || cap=$DRIVER_CAP
		if [ "$lines" -gt $cap ]; then
			echo "$file has $lines lines, the cap is $cap"
			bad=1
		fi
	done < <(source_files drivers scripts selftests tools)
	return $bad
}

check_spdx()
{
	local file bad=0

	while read -r file; do
		head -n 3 "$TOP/$file" | grep -q 'SPDX-License-Identifier' && continue
		echo "$file has no SPDX line"
		bad=1
	done < <(source_files drivers scripts selftests tools include .ci Makefile Kbuild)
	return $bad
}

# asking for a kernel version is for include/compat alone
check_versions()
{
	! grep -rnE 'LINUX_VERSION_CODE|KERNEL_VERSION' "$TOP/drivers" --include='*.[ch]'
}

main()
{
	local check failed=0

	[ -f "$STAMPS/kernel-$SERIES" ] || "$TOP/scripts/setup.sh" $SERIES
	for check in shell kernel_doc sparse caps spdx versions; do
		info "check: $check"
		"check_$check" || failed=$((failed + 1))
	done
	info "check: layers"
	"$TOP/scripts/layers.sh" || failed=$((failed + 1))
	echo "$failed checks failed"
	[ $failed -eq 0 ]
}

main "$@"
