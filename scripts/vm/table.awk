# SPDX-License-Identifier: GPL-2.0
#
# Reads "@row <backend> <row> <value>" lines; prints one table of medians with
# the ratio of kvnet to the others. With -v spread=1 also (max - min) / median.

$1 == "@row" && $4 ~ /^[0-9.]+$/ {
	count[$2, $3]++
	value[$2, $3, count[$2, $3]] = $4 + 0
}

function sort_values(b, r,    i, j, t)
{
	for (i = 2; i <= count[b, r]; i++)
		for (j = i; j > 1 && value[b, r, j] < value[b, r, j - 1]; j--) {
			t = value[b, r, j]
			value[b, r, j] = value[b, r, j - 1]
			value[b, r, j - 1] = t
		}
}

function median(b, r,    n, h)
{
	n = count[b, r]
	if (!n)
		return -1
	h = int((n + 1) / 2)
	return n % 2 ? value[b, r, h] : (value[b, r, h] + value[b, r, h + 1]) / 2
}

function show(v, r)
{
	if (v < 0)
		return "-"
	return sprintf(r ~ /rtt|per-/ ? "%.3f" : "%.0f", v)
}

function ratio(a, b)
{
	return a < 0 || b <= 0 ? "-" : sprintf("%.2f", a / b)
}

function cell(b, r,    m)
{
	m = median(b, r)
	if (!spread || m <= 0)
		return show(m, r)
	return sprintf("%s +-%.0f%%", show(m, r), 50 * (value[b, r, count[b, r]] - value[b, r, 1]) / m)
}

function line(r, title,    b, i)
{
	for (i = 1; i <= 3; i++)
		sort_values(backend[i], r)
	if (!count["kvnet", r] && !count["vhost", r] && !count["off", r])
		return
	printf "%-28s %14s %14s %14s %12s", title, cell("kvnet", r), cell("vhost", r), cell("off", r),
		ratio(median("kvnet", r), median("vhost", r))
	printf spread ? " %12s\n" : "\n", ratio(median("kvnet", r), median("off", r))
}

END {
	split("kvnet vhost off", backend, " ")
	printf "%-28s %14s %14s %14s %12s", "", "kvnet", "vhost_net", "QEMU's own", "kvnet/vhost"
	printf spread ? " %12s\n" : "\n", "kvnet/own"
	line("rtt-min", "RTT min, ms")
	line("rtt-avg", "RTT avg, ms")
	line("rtt-max", "RTT max, ms")
	line("tcp-to-guest", "TCP host to guest, Mbit/s")
	line("tcp-to-host", "TCP guest to host, Mbit/s")
	line("udp-to-guest", "UDP host to guest, packets/s")
	line("udp-to-host", "UDP guest to host, packets/s")
	line("per-packet-switches-rtt", "QEMU switches/packet, ping")
	line("per-packet-switches-to-guest", "QEMU switches/packet, h->g")
	line("per-packet-switches-to-host", "QEMU switches/packet, g->h")
}
