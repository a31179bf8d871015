#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside User-Mode Linux, for scripts/mutate.sh: one module after the other of
# /kvnet/mutants, each with the tests that are in the file beside it, until one fails. Says
# "# mutant N killed", "passed", or "killed for good": this kernel is of no use any more, since
# it complained, or still has the module.

KMEMLEAK=/sys/kernel/debug/kmemleak

# What nobody has any more: nothing that is younger than five seconds is told.
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

# between what was said before and now
log_since()
{
	dmesg | sed "1,/kvnet-test: mutant $1 begins/d"
}

for module in /kvnet/mutants/*.ko; do
	n=${module##*/} n=${n%.ko}
	readarray -t tests < "/kvnet/mutants/$n.tests"
	echo "# mutant $n begins"
	echo "<5>kvnet-test: mutant $n begins" > /dev/kmsg
	mount --bind "$module" /kvnet/kvnet.ko
	word=passed
	bash /kvnet/scripts/vm/uapi.sh "${tests[@]}" || word=killed
	umount /kvnet/kvnet.ko
	if [ $word = passed ] && leaks; then
		word=killed
	fi
	log_since "$n" > /tmp/log
	if [ -d /sys/module/kvnet ] || ! bash /kvnet/scripts/dmesg-verdict.sh /tmp/log; then
		echo "# mutant $n killed for good"
		break
	fi
	echo "# mutant $n $word"
done
exit 1
