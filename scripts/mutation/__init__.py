# SPDX-License-Identifier: GPL-2.0
"""Mutants of drivers/kvnet: would the tests notice a defect?

    source      the files of drivers/kvnet
    mechanical  makes mutants from C source
    lists       those made by hand, the names of all, and which of them a run tries
    verdicts    what is known of them, and the order of the tests
    main        the verbs of scripts/mutants.py
"""
