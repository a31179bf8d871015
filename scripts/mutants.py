#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The mutants of drivers/kvnet; without arguments it says how it is used (mutation/)."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from mutation.main import main  # noqa: E402  pylint: disable=wrong-import-position

if __name__ == "__main__":
    sys.exit(main(sys.argv))
