#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside User-Mode Linux, for scripts/mutate.sh: one module after the other of
# /kvnet/mutants, each with the tests that are in the file beside it, until one fails. Says
# "# mutant N killed", "passed", or "killed for good": this kernel is of no use any more, since
# it complained, or still has the module.

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
	log_since "$n" > /tmp/log
	if [ -d /sys/module/kvnet ] || ! bash /kvnet/scripts/dmesg-verdict.sh /tmp/log; then
		echo "# mutant $n killed for good"
		break
	fi
	echo "# mutant $n $word"
done
exit 1
