#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside User-Mode Linux, for uml.py: one module after the other of /kvnet/mutants, each
# with the tests of the file beside it, lines "VARIANT TEST...", until one fails. Ends each by
# a line "# mutant N WORD":
#
#   passed    no test has failed, and no memory has leaked
#   killed    a test has failed
#   leaked    no test has failed, but kmemleak reports memory
#   broken    this kernel cannot be used any more: it complained, or still has the module
#
# A broken kernel ends the run; the modules that have not begun need another kernel. So do those
# that have not begun after $LAST_BEGINS seconds.

KMEMLEAK=/sys/kernel/debug/kmemleak

# kmemleak reports nothing that is younger than five seconds
leaks()
{
	[ -w $KMEMLEAK ] || return 1
	sleep 5
	echo scan > $KMEMLEAK
	echo scan > $KMEMLEAK
	cat $KMEMLEAK > /tmp/leaks
	echo clear > $KMEMLEAK
	[ -s /tmp/leaks ] || return 1
	head -c 2000 /tmp/leaks
	echo "# bad kernel message: kmemleak: $(grep -c 'unreferenced object' /tmp/leaks) leaks"
}

# run_tests FILE
run_tests()
{
	local line variant

	while read -r -a line; do
		variant=${line[0]} KVNET_LAYOUT='' KVNET_WORKER='' KVNET_PARAMS=''
		case $variant in
		packed) KVNET_LAYOUT=packed,in_order ;;
		kthread) KVNET_WORKER=kthread ;;
		calls) KVNET_PARAMS=rx_direct=0 ;;
		esac
		export KVNET_LAYOUT KVNET_WORKER KVNET_PARAMS
		echo "# variant $variant"
		bash /kvnet/scripts/vm/uapi.sh "${line[@]:1}" < /dev/null || return 1
	done < "$1"
}

# the kernel's log since mutant N began
log_since()
{
	dmesg | sed "1,/kvnet-test: mutant $1 begins/d"
}

for module in /kvnet/mutants/*.ko; do
	[ -z "$LAST_BEGINS" ] || [ $SECONDS -lt "$LAST_BEGINS" ] || break
	n=${module##*/} n=${n%.ko}
	echo "# mutant $n begins"
	echo "<5>kvnet-test: mutant $n begins" > /dev/kmsg
	mount --bind "$module" /kvnet/kvnet.ko
	word=passed
	run_tests "/kvnet/mutants/$n.tests" || word=killed
	umount /kvnet/kvnet.ko
	if [ $word = passed ] && leaks; then
		word=leaked
	fi
	log_since "$n" > /tmp/log
	if [ -d /sys/module/kvnet ] || ! bash /kvnet/scripts/dmesg-verdict.sh /tmp/log; then
		[ $word = leaked ] || word=broken
		echo "# mutant $n $word"
		break
	fi
	echo "# mutant $n $word"
done
exit 1
