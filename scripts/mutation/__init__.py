# SPDX-License-Identifier: GPL-2.0
"""Mutants of drivers/kvnet: would the tests notice a defect?

    source      the files of drivers/kvnet
    mechanical  makes mutants from C source
    lists       those made by hand, the names of all, and which of them a run tries
    verdicts    what is known of them, and the order of the tests
    unit        builds and runs unit tests on a mutant
    uml         builds the module of a mutant, and runs uapi tests in User-Mode Linux
    inside.sh   the part of uml that runs there
    lane        a copy of the sources, in which one mutant at a time is tried
    run         "make mutate": the lanes, the verdicts, the summary
    main        the verbs of scripts/mutants.py
"""
