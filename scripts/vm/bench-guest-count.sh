# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the test host counts by itself while a test runs: exits of the guest (KVM's
# statistics), processor time and switches of the worker, of QEMU's main loop and
# of the virtual CPUs (the scheduler's), and kvnet's kicks and calls. Nothing is
# switched on for it, so nothing is slower for it. Reads files without a process
# for each, which would cost more than what is counted.

KVM_STATS=/sys/kernel/debug/kvm

# what KVM counts, and what it is called here. fpu_reload goes up whenever KVM_RUN
# returns to QEMU; insn_emulation by each access to a device's memory, also one
# that ends in an eventfd; io_exits and mmio_exits are those that QEMU serves.
KVM_NAMES="exits:exits fpu_reload:exits_to_qemu io_exits:exits_port mmio_exits:exits_mmio
insn_emulation:emulated hypercalls:hypercalls irq_injections:interrupts halt_exits:exits_halt
irq_exits:exits_host_irq"

declare -A BEFORE NOW

find_kernel_workers()
{
	WORKERS=$(ps -o pid,comm | awk '$2 ~ /^kvnet-/ { print "/proc/" $1 }')
}

# workers are threads of QEMU, or, if it has chosen so, kernel threads
find_workers()
{
	local fd

	KVNET_INFO=''
	if [ "$BACKEND" = kvnet ]; then
		for fd in $(backend_fd); do
			KVNET_INFO="$KVNET_INFO /proc/$(guest_pid)/fdinfo/$fd"
		done
	fi
	GUEST_TASKS=/proc/$(guest_pid)/task
	find_kernel_workers
}

thread_class()
{
	case $1 in
	CPU*) CLASS=vcpu ;;
	vhost-* | kvnet-*) CLASS=worker ;;
	*) CLASS=qemu ;;
	esac
}

# processor time, and how often each was put on a CPU
take_threads()
{
	local task run slices name

	for task in "$GUEST_TASKS"/* $WORKERS; do
		read -r name < "$task/comm" && read -r run _ slices < "$task/schedstat" || continue
		thread_class "$name"
		NOW[cpu_$CLASS]=$((${NOW[cpu_$CLASS]:-0} + run))
		NOW[switches_$CLASS]=$((${NOW[switches_$CLASS]:-0} + slices))
	done 2> /dev/null
}

# kvnet's own counters, from each descriptor of its device
take_kvnet()
{
	local file key value

	for file in $KVNET_INFO; do
		while read -r key value; do
			case $key in
			kvnet.?x.kicks:) NOW[kicks]=$((${NOW[kicks]:-0} + value)) ;;
			kvnet.?x.calls:) NOW[calls]=$((${NOW[calls]:-0} + value)) ;;
			esac
		done < "$file"
	done
}

# of all CPUs: the seventh figure after a CPU's name, time that anything but idle ran. A task's
# turn is in it when it has ended.
take_cpu()
{
	local key value

	while read -r key _ _ _ _ _ _ value _; do
		[[ $key != cpu* ]] || NOW[cpu_host]=$((${NOW[cpu_host]:-0} + value))
	done < /proc/schedstat
}

take_system()
{
	local item key value

	take_threads
	for item in $KVM_NAMES; do
		read -r value < "$KVM_STATS/${item%%:*}" && NOW[${item#*:}]=$value
	done
	while read -r key value _; do
		[[ $key != ctxt ]] || NOW[switches]=$value
	done < /proc/stat
}

# To count takes longer than some of what is counted, and more where kvnet has counters of its
# own. So the host's time is taken last, when the turn in which all else was counted is over,
# and first in the end. In the other figures is what one of the two costs.
count_begin()
{
	local name

	NOW=()
	take_kvnet
	take_system
	BEFORE=()
	for name in "${!NOW[@]}"; do
		BEFORE[$name]=${NOW[$name]}
	done
	sleep 0.01
	NOW=()
	take_cpu
	BEFORE[cpu_host]=${NOW[cpu_host]}
}

count_end()
{
	NOW=()
	take_cpu
	take_system
	take_kvnet
}

# count_of_transactions SWITCHES NS: those that the program has counted itself, and what that took
count_of_transactions()
{
	local all=switches host=cpu_host

	BEFORE[$all]=0 NOW[$all]=$1
	NOW[$host]=$((NOW[$host] - $2))
}

# count_rows AMOUNT UNIT [BITS]: the differences per unit of work; of time, too,
# or as processor seconds per Gbit where BITS were carried
count_rows()
{
	local name

	for name in "${!NOW[@]}"; do
		echo "$name $((${NOW[$name]} - ${BEFORE[$name]:-0}))"
	done | sort | awk -v amount="$1" -v unit="$2" -v bits="${3:-0}" \
		-v begin="@bench lane=$LANE rep=$REP backend=$SYSTEM test=$TEST $PARAMS" '
	$1 ~ /^cpu/ && bits { printf "%s metric=%s value=%.6g unit=s/Gbit\n", begin, $1, $2 / bits; next }
	$1 ~ /^cpu/ { printf "%s metric=%s value=%.6g unit=ns/%s\n", begin, $1, $2 / amount, unit; next }
	{ printf "%s metric=%s value=%.6g unit=1/%s\n", begin, $1, $2 / amount, unit }'
}
