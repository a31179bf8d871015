#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The demonstration: from nothing to a table that compares kvnet with in-tree
# vhost_net and QEMU's own virtio-net, on a test host in a VM.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

main()
{
	if has_virtualization; then
		info "demo: this takes 3 to 6 minutes"
	else
		info "demo: no hardware virtualization here, so CPUs are emulated; it takes under 10 minutes, everything included"
	fi
	"$TOP/scripts/setup.sh" 6.12
	"$TOP/scripts/build-module.sh" 6.12
	info "starting the test host: a VM with its own kernel; nothing is loaded on this machine"
	"$TOP/scripts/vm.sh" --name demo --timeout 540 --env "BACKENDS=${BACKENDS:-kvnet vhost off}" -- "$TOP/scripts/vm/demo.sh"
	info "demo: done"
}

main "$@"
