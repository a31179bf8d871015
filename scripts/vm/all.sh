#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside the test host: the uapi tests, then the net tests named.
status=0
bash /kvnet/scripts/vm/uapi.sh || status=1
bash /kvnet/selftests/net/run.sh "$@" || status=1
exit $status
