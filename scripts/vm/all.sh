#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside the test host: the uapi tests, all, those named in UAPI or none, then the
# net tests, all, those named or none.
status=0
# shellcheck disable=SC2086 # a list of names
[ "${UAPI:-}" = none ] || bash /kvnet/scripts/vm/uapi.sh ${UAPI:-} || status=1
[ "${1:-}" = none ] || bash /kvnet/selftests/net/run.sh "$@" || status=1
exit $status
