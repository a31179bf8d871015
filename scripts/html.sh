#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The documentation as web pages, in build/html: Sphinx, of Debian's packages, and a
# warning is an error.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

"$TOP/scripts/setup.sh" --docs
# Debian's own, which no other Python can be in the way of
/usr/bin/python3 -B -m sphinx -q -E -a -W --keep-going -b html -d "$BUILD/html.doctrees" "$TOP/Documentation" "$BUILD/html" ||
	die "Sphinx has warned: see above"
info "$BUILD/html/index.html"
