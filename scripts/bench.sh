#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
exec /usr/bin/python3 -B "$(dirname "$0")/../tools/bench" "$@" # says what it can: --help
