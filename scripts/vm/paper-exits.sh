# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034 # PARAMS and TEST are what bench_row prints
#
# The paper's Figures 10 and 11: what the guest does to its device for a packet,
# counted by KVM's tracepoints (histograms in the kernel). They make each access
# dearer, so nothing is timed meanwhile.

TRACE=/sys/kernel/tracing/events/kvm
LOCAL_APIC=fee00000

# EVENT KEYS: what is counted
HISTOGRAMS="kvm_mmio:type,gpa.hex kvm_pio:rw,port.hex kvm_exit:exit_reason kvm_hypercall:nr kvm_inj_virq:vector
kvm_userspace_exit:reason kvm_msr:write,ecx.hex"

histograms_begin()
{
	local item

	for item in $HISTOGRAMS; do
		echo "hist:keys=${item#*:}:size=4096" > "$TRACE/${item%%:*}/trigger" || return
	done
}

# histogram EVENT: its lines "{ type: 2, gpa: febf1000 } hitcount: 17" without the signs
histogram()
{
	sed -n '/hitcount/s/[{},:]/ /gp' "$TRACE/$1/hist"
}

histograms_end()
{
	local item

	for item in $HISTOGRAMS; do
		echo "!hist:keys=${item#*:}:size=4096" > "$TRACE/${item%%:*}/trigger"
	done
}

# access_rows PACKETS: a read that QEMU answers is seen twice, as type 0 and as 1
access_rows()
{
	{
		histogram kvm_mmio | awk -v apic=$LOCAL_APIC '$2 > 0 { print ($4 == apic ? "apic" : "mmio"), $6 }'
		histogram kvm_pio | awk '{ print "port", $6 }'
		histogram kvm_hypercall | awk '{ print "hypercalls", $4 }'
		histogram kvm_inj_virq | awk '{ print "interrupts", $4 }'
		histogram kvm_exit | awk '{ print "exits", $4 }'
		histogram kvm_userspace_exit | awk '{ print "exits_to_qemu", $4 }'
		histogram kvm_msr | awk '{ print "msr", $6 }'
		printf '%s 0\n' mmio port hypercalls interrupts exits exits_to_qemu apic msr
	} | awk -v n="$1" '
	{
		sum[$1] += $2
		if ($1 == "mmio" || $1 == "port")
			sum["accesses"] += $2
	}
	END {
		for (name in sum)
			print name, sum[name] / n
	}' | sort | while read -r name value; do
		bench_row "$name" "$value" 1/packet
	done
}

# accesses DIRECTION PATTERN COUNT GAP
accesses()
{
	local status

	PARAMS="dir=$1 pattern=$2"
	histograms_begin || return
	rr ${DATAGRAMS[$1]} "$3" 64 "$4"
	status=$?
	[ $status -ne 0 ] || [ "${R[got]}" -eq 0 ] || access_rows "${R[got]}"
	histograms_end
	return $status
}

# single packets, 2 ms apart, and bursts
part_exits()
{
	local dir

	TEST=accesses
	for dir in rx tx; do
		accesses $dir single 200 2000 && accesses $dir burst 1000 0 || return
	done
}
