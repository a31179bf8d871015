#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In User-Mode Linux, for scripts/ynl.sh: the module, and the kernel's tool. Debian's Python
# has what that one wants.
modprobe tun && insmod /kvnet/kvnet.ko || exit
/usr/bin/python3 -B /kvnet/scripts/vm/ynl.py /kvnet/ynl /kvnet/kvnet.yaml /kvnet/genetlink-legacy.yaml
status=$?
rmmod kvnet || exit
exit $status
