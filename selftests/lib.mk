# SPDX-License-Identifier: GPL-2.0
# What a test's Makefile takes from the kernel's tools/testing/selftests/lib.mk, for
# where there is no kernel tree; in one that file is used, and this one is not. Lists:
#
#   TEST_GEN_PROGS    tests that are built         TEST_GEN_PROGS_EXTENDED   not run by themselves
#   TEST_PROGS        scripts that are tests       TEST_PROGS_EXTENDED       likewise
#   TEST_FILES        what they need beside them   TEST_GEN_FILES            the same, built
#   EXTRA_CLEAN
#
# Verbs: all, run_tests, install INSTALL_PATH=dir, emit_tests, clean.

OUTPUT ?= $(CURDIR)/out
ifeq ($(origin CC),default)
CC := $(CROSS_COMPILE)gcc
endif

SELFDIR := $(realpath $(dir $(lastword $(MAKEFILE_LIST))))

TEST_GEN_PROGS := $(patsubst %,$(OUTPUT)/%,$(TEST_GEN_PROGS))
TEST_GEN_PROGS_EXTENDED := $(patsubst %,$(OUTPUT)/%,$(TEST_GEN_PROGS_EXTENDED))
TEST_GEN_FILES := $(patsubst %,$(OUTPUT)/%,$(TEST_GEN_FILES))
ALL_GEN := $(TEST_GEN_PROGS) $(TEST_GEN_PROGS_EXTENDED) $(TEST_GEN_FILES)
ALL_FILES := $(TEST_PROGS) $(TEST_PROGS_EXTENDED) $(TEST_FILES) $(wildcard config settings)

all: $(ALL_GEN)

# beside what is built
run_tests: all
	@[ '$(CURDIR)' -ef '$(OUTPUT)' ] || cp -a $(ALL_FILES) '$(OUTPUT)/'
	@$(SELFDIR)/run_kselftest.sh --programs $(notdir $(CURDIR)) $(TEST_GEN_PROGS) $(patsubst %,$(OUTPUT)/%,$(notdir $(TEST_PROGS)))

install: all
ifdef INSTALL_PATH
	@mkdir -p '$(INSTALL_PATH)'
	@cp -aL $(ALL_FILES) $(ALL_GEN) '$(INSTALL_PATH)/'
else
	$(error set INSTALL_PATH to the directory to install into)
endif

# what is installed, by its names
emit_tests:
	@for test in $(notdir $(TEST_GEN_PROGS) $(TEST_PROGS)); do echo "$(COLLECTION):$$test"; done

clean:
	@rm -rf $(ALL_GEN) $(EXTRA_CLEAN)
	@[ ! -d '$(OUTPUT)' ] || rmdir --ignore-fail-on-non-empty '$(OUTPUT)'

.PHONY: all run_tests install emit_tests clean
