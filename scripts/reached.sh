#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Makes a copy of the module's sources that is built to remember which of its parts have
# run (selftests/uapi/reached), for the fuzzer of system calls; a kvnet.ko with a parameter
# more, reached=1. Tracing of events is no part.
#
#   scripts/reached.sh DIRECTORY
#   scripts/reached.sh --points DIRECTORY    how many parts a module has that was built there, about
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

copy()
{
	rm -rf "$1"
	mkdir -p "$1/drivers/kvnet"
	cp "$TOP/Kbuild" "$1/"
	cp -r "$TOP/include" "$1/"
	cp "$TOP"/drivers/kvnet/{Kbuild,*.[ch]} "$TOP"/selftests/uapi/reached/*.[ch] "$1/drivers/kvnet/"
	cat >> "$1/drivers/kvnet/Kbuild" <<- 'END'
		kvnet-y += kvnet_reached.o
		ccflags-y += -fsanitize-coverage=trace-pc -fdump-tree-sancov
		CFLAGS_REMOVE_trace.o := -fsanitize-coverage=trace-pc
		CFLAGS_REMOVE_kvnet_reached.o := -fsanitize-coverage=trace-pc
		KASAN_SANITIZE_kvnet_reached.o := n
		KCSAN_SANITIZE_kvnet_reached.o := n
		UBSAN_SANITIZE_kvnet_reached.o := n
	END
}

# What the compiler says of it: it may make one of two, or two of one, afterwards. (The
# object code of User-Mode Linux calls by registers.)
points()
{
	find "$1" -name '*.sancov*' -exec cat {} + | grep -c 'sanitizer_cov_trace_pc ()'
}

case $# in
1) copy "$1" ;;
2) [ "$1" = --points ] && points "$2" ;;
*) die "usage: reached.sh DIRECTORY | --points DIRECTORY" ;;
esac
