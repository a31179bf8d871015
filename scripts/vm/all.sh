#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside the test host: the uapi tests in UAPI, then the net tests that are named.
status=0
# shellcheck disable=SC2086 # a list of names
[ -z "${UAPI:-}" ] || bash /kvnet/scripts/vm/uapi.sh $UAPI || status=1
[ $# -eq 0 ] || bash /kvnet/selftests/net/run.sh "$@" || status=1
exit $status
