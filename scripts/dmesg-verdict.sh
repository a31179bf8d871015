#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Reads a kernel log, and fails on any line that a healthy kernel does not print, with the
# test that was running: dmesg-verdict.sh console.log. See runner/kernel_log.py.
exec python3 -B "$(dirname "$0")/runner/kernel_log.py" "$@"
