# SPDX-License-Identifier: GPL-2.0
# For humans; the kernel's build system reads Kbuild.

KDIR ?= /lib/modules/$(or $(KVER),$(shell uname -r))/build
MODULE := drivers/kvnet/kvnet.ko
PREFIX ?= /usr/local
DESTDIR ?=
SYSCONFDIR ?= /etc
SCRIPTS := $(CURDIR)/scripts
TOOLS := $(or $(KVNET_BUILD),$(CURDIR)/build)/tools

# $(call in_seconds,NAME): the shell's variable "seconds", of a number of minutes
in_seconds = case '$($(1))' in '' | 0* | *[!0-9]*) echo "make: $(1) is a number above 0, not '$($(1))'" >&2; exit 1 ;; esac; seconds=$$(($($(1)) * 60));

# a directory with a name that cannot be worked in
PLACE := $(shell LC_ALL=C bash scripts/lib.sh 2>&1)
ifneq ($(PLACE),)
$(error $(PLACE))
endif

modules:
	@[ -e "$(KDIR)/Makefile" ] || { echo "make: no kernel headers in $(KDIR); install linux-headers-$$(uname -r), or name them: make KDIR=/path/to/headers" >&2; exit 1; }
	@$(MAKE) --no-print-directory -C $(KDIR) M=$(CURDIR) modules

# what is compiled of tools/
tools:
	@echo '#include <libmnl/libmnl.h>' | $(CC) -E - > /dev/null 2>&1 || $(SCRIPTS)/setup.sh --tools
	@$(MAKE) --no-print-directory -C tools/kvnetctl OUTPUT='$(TOOLS)' VERSION="$$($(SCRIPTS)/version.sh)"

help:
	@echo 'make             build kvnet.ko for the running kernel (or KDIR=...)'
	@echo 'make tools       build kvnetctl, the tool of operators (into build/tools)'
	@echo 'make load        modprobe what it needs, then insmod it'
	@echo 'make unload      remove it'
	@echo 'make install     install module, tools, man pages, udev rule and samples (PREFIX=$(PREFIX) DESTDIR= KVER=)'
	@echo 'make uninstall   take them away again'
	@echo 'make dkms-install     the module by DKMS, for each kernel to come; make dkms-remove takes it away'
	@echo 'make deb         Debian packages, in build/deb (VERSION=)'
	@echo 'make clean       remove what the build made; build/ stays (rm -r build)'
	@echo ''
	@echo 'make demo        a guest on kvnet, vhost_net and QEMU itself, in a VM: one table'
	@echo 'make test        tier one, which each change has to pass: static checks, units, User-Mode Linux, a VM with 6.12'
	@echo 'make test-all    everything: also 6.1 and the newest kernel, other layouts, guests and VMMs, fuzzing, two CPUs'
	@echo 'make unit        userspace tests of the pure parts (TESTS="ring xlate")'
	@echo 'make uml         a process plays the guest, in User-Mode Linux with KASAN and lockdep (TESTS="loop hostile" KERNEL=smp-kasan: on two CPUs)'
	@echo 'make uapi        the same in a VM, with more CPUs (TESTS="memory/iotlb worker/" KERNEL=6.1 or newest)'
	@echo 'make net         real guests against the module, in a VM (TESTS="traffic live" KERNEL=)'
	@echo 'make bench       the laboratory: all that this machine can measure, with a report (LANE= ONLY= REPEAT= BACKENDS=)'
	@echo 'make bench-compare A=dir B=dir   what changed between two of its results'
	@echo 'make bench-profile    the functions where the time of kvnet and vhost_net goes'
	@echo 'make paper       the evaluation of the paper that kvnet finishes, its figures beside ours (REPEAT=3 QUICK=1)'
	@echo 'make native      only its lane of User-Mode Linux (ROUNDS=5 ONLY=pps)'
	@echo 'make icount      only its lane of instructions for a packet: exact (SEEDS=2 ONLY=pps)'
	@echo 'make vtime       only its lane of virtual time, with a real guest (SEEDS=7 ONLY=tcp)'
	@echo 'make mutate      would the tests notice? breaks the module in one place after the other (ROOM="ring_split tx" SET=1 AGAIN=1 LANES=2 TIER=1 MINUTES=)'
	@echo 'make fuzz        coverage-guided fuzzing of the pure parts and of kvnetctl (FUZZ_MINUTES=5 COVERAGE=1, or FUZZ_RUNS=1000000000 ALL_CHECKS=1)'
	@echo 'make proofs      bounded proofs of the pure parts by CBMC, and their mutants (TESTS="split_next" QUICK=1 TRACE=1)'
	@echo 'make sysfuzz     random system calls on devices that carry packets, in User-Mode Linux (SECONDS=600 SEED= OPS= KERNEL=smp-kasan)'
	@echo 'make shortcut-fuzz    random bridges, with the short cut between their taps and without, in User-Mode Linux (MINUTES=60 SHORTCUT_SEED= KERNEL=smp-kasan)'
	@echo 'make life        a thousand deaths of each kind under load, in User-Mode Linux and in a VM (CYCLES=1000)'
	@echo 'make test-debug  the uapi tests on kernels that look for bugs, with two CPUs: memory and locks, data races, what nobody has written; all in User-Mode Linux, some in a VM (KERNEL="smp-kasan smp-kcsan kasan kcsan kmsan" TESTS=)'
	@echo 'make isolation   what a hostile guest costs the host and other guests: memory, log, content, instructions'
	@echo 'make soak        eight guests, migrations and changes under traffic, for an hour, in User-Mode Linux (SOAK_MINUTES=60 GUESTS=8 KERNEL=)'
	@echo 'make test-packages    installs, uses, upgrades and removes them on a Debian 12 and a Debian 13 (SYSTEMS=deb12)'
	@echo "make ynl         the kernel's own netlink tool reads the family's specification, and asks the module by it"
	@echo 'make html        the documentation as web pages, in build/html (Sphinx)'
	@echo 'make build-matrix     builds for 6.1, 6.12 and the newest, x86-64 and arm64, gcc and clang: a table (KERNELS= ARCHES= COMPILERS=)'
	@echo 'make check       builds, unit tests, style and static checks: what is quick'
	@echo 'make clean-cache removes what is kept outside of checkouts: downloads, kernels, images ($$KVNET_CACHE, ~/.cache/kvnet)'

load:
	@$(SCRIPTS)/load.sh load $(MODULE)

unload:
	@$(SCRIPTS)/load.sh unload

demo:
	@$(SCRIPTS)/bench.sh demo

test:
	@$(SCRIPTS)/test.sh first

test-all:
	@$(SCRIPTS)/test.sh all

unit uml uapi net:
	@$(SCRIPTS)/test.sh $@

test-debug:
	@$(SCRIPTS)/test.sh debug

vtime icount:
	@LANE=$@ REPEAT='$(or $(SEEDS),$(REPEAT))' $(SCRIPTS)/bench.sh

bench:
	@$(SCRIPTS)/bench.sh

paper:
	@$(SCRIPTS)/bench.sh paper

bench-compare:
	@$(SCRIPTS)/bench.sh compare '$(A)' '$(B)'

bench-profile:
	@$(SCRIPTS)/bench.sh profile

native:
	@LANE=native REPEAT='$(or $(ROUNDS),$(REPEAT))' $(SCRIPTS)/bench.sh

mutate:
	@python3 -B $(SCRIPTS)/mutants.py try $(ROOM)

fuzz: FUZZ_MINUTES ?= 5
fuzz:
	@$(call in_seconds,FUZZ_MINUTES) FUZZ_SECONDS=$$seconds FUZZ_RUNS='$(FUZZ_RUNS)' ALL_CHECKS='$(ALL_CHECKS)' COVERAGE='$(COVERAGE)' $(SCRIPTS)/fuzz.sh

proofs:
	@python3 -B selftests/proofs/prove.py $(if $(QUICK),--quick) $(if $(TRACE),--trace) $(TESTS)

sysfuzz:
	@SYSFUZZ_SECONDS='$(SECONDS)' SEED='$(SEED)' OPS='$(OPS)' $(SCRIPTS)/test.sh sysfuzz

# other bridges each time
shortcut-fuzz: MINUTES ?= 60
shortcut-fuzz:
	@$(call in_seconds,MINUTES) SHORTCUT_SECONDS=$$seconds SHORTCUT_SEED='$(SHORTCUT_SEED)' KSFT_SEED=$${KSFT_SEED:-$$(date +%s)} PACKED= RUN_SECONDS=86400 TESTS=shortcut_fuzz $(SCRIPTS)/test.sh uml

life: CYCLES ?= 1000
life: export LIFE_CYCLES = $(CYCLES)
life: export RUN_SECONDS = 86400
life: export TESTS = life_test
life:
	@PACKED= $(SCRIPTS)/test.sh uml
	@PACKED= $(SCRIPTS)/test.sh uapi

# 10^5 of each; then where memory is filled with a pattern; then what it costs another guest
isolation:
	@KSFT_LONG=500 RUN_SECONDS=14400 TESTS=isolation_test $(SCRIPTS)/test.sh uml
	@HOST_APPEND='init_on_alloc=0 page_poison=1 slub_debug=P' TESTS=info_leak_test $(SCRIPTS)/test.sh uapi
	@LANE=icount ONLY=neighbour $(SCRIPTS)/bench.sh

soak:
	@$(SCRIPTS)/test.sh soak

check:
	@command -v python3 > /dev/null || $(SCRIPTS)/setup.sh --packages-only
	@$(SCRIPTS)/check.py

html:
	@$(SCRIPTS)/html.sh

ynl:
	@$(SCRIPTS)/ynl.sh

clean-cache:
	@$(SCRIPTS)/clean-cache.sh

build-matrix:
	@$(SCRIPTS)/test.sh build-matrix

INSTALL_SH := DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' SYSCONFDIR='$(SYSCONFDIR)' KDIR='$(KDIR)' TOOLS='$(TOOLS)' $(SCRIPTS)/install.sh

install: modules tools
	@$(INSTALL_SH) all

install-tools: tools
	@$(INSTALL_SH) tools

install-host:
	@$(INSTALL_SH) host
	@$(INSTALL_SH) apparmor

install-source:
	@$(INSTALL_SH) source

uninstall:
	@$(INSTALL_SH) uninstall

dkms-install:
	@$(INSTALL_SH) dkms-add

dkms-remove:
	@$(INSTALL_SH) dkms-remove

deb:
	@$(SCRIPTS)/deb.sh

test-packages:
	@$(SCRIPTS)/test.sh packages

clean:
	@[ ! -e "$(KDIR)/Makefile" ] || $(MAKE) -s -C $(KDIR) M=$(CURDIR) clean
	@[ ! -e tools/kvnetctl/Makefile ] || $(MAKE) -s -C tools/kvnetctl OUTPUT='$(TOOLS)' clean
	@$(MAKE) -s -C selftests/unit clean
	@$(MAKE) -s -C selftests/uapi clean
	@$(MAKE) -s -C selftests/net clean
	@$(MAKE) -s -C selftests/perf clean
	rm -rf build/mod-* build/hypercall build/uapi build/net-tools build/tools build/perf build/log

.PHONY: modules tools help load unload demo test test-all test-debug unit uml uapi net bench paper bench-compare bench-profile vtime icount native mutate fuzz proofs sysfuzz shortcut-fuzz life isolation soak check html ynl build-matrix clean-cache install \
	install-tools install-host install-source uninstall dkms-install dkms-remove deb test-packages clean
