# SPDX-License-Identifier: GPL-2.0
#
# Reads "@row <system> <row> <value>" lines, several of each; prints a table: median
# and range, and how fast kvnet is against the others. A ratio only where this run
# can tell a difference: where all of kvnet's values are above all of the other's, or
# below. Else "even". With four values each, equals look different in 3 of 100 cases,
# with six in 2 of 1000.

$1 == "@row" && $4 ~ /^[0-9.]+$/ && $4 > 0 {
	count[$2, $3]++
	value[$2, $3, count[$2, $3]] = $4 + 0
}

function sort_values(s, r,    i, j, t)
{
	for (i = 2; i <= count[s, r]; i++)
		for (j = i; j > 1 && value[s, r, j] < value[s, r, j - 1]; j--) {
			t = value[s, r, j]
			value[s, r, j] = value[s, r, j - 1]
			value[s, r, j - 1] = t
		}
}

function median(s, r,    n, h)
{
	n = count[s, r]
	h = int((n + 1) / 2)
	return n % 2 ? value[s, r, h] : (value[s, r, h] + value[s, r, h + 1]) / 2
}

function least(s, r)
{
	return value[s, r, 1]
}

function most(s, r)
{
	return value[s, r, count[s, r]]
}

# as many digits as tell something
function show(v)
{
	return sprintf(v < 99.95 ? "%.1f" : "%.0f", v)
}

function cell(s, r)
{
	if (!count[s, r])
		return "-"
	return show(median(s, r)) " (" show(least(s, r)) "-" show(most(s, r)) ")"
}

function ratio(s, r, less,    a, b, text)
{
	if (!count["kvnet", r] || !count[s, r])
		return "-"
	if (least("kvnet", r) <= most(s, r) && least(s, r) <= most("kvnet", r))
		return "even"
	a = median("kvnet", r)
	b = median(s, r)
	text = sprintf("%.2f", less ? b / a : a / b)
	return text == "1.00" ? "even" : text
}

function line(r, title, less,    i)
{
	for (i = 1; i <= systems; i++)
		sort_values(system_name[i], r)
	printf FORMAT, title, cell("kvnet", r), cell("vhost_net", r), cell("qemu", r),
		ratio("vhost_net", r, less), ratio("qemu", r, less)
}

END {
	systems = split("kvnet vhost_net qemu", system_name, " ")
	FORMAT = "%-27s %19s  %19s  %19s  %10s  %10s\n"
	printf "%111s\n", "how fast is kvnet against"
	printf FORMAT, "", "kvnet", "vhost_net", "QEMU's own", "vhost_net", "QEMU's own"
	line("ping", "ping, us (less is better)", 1)
	line("tcp-to-guest", "TCP to the guest, Mbit/s")
	line("tcp-to-host", "TCP to the host, Mbit/s")
	line("udp-to-guest", "UDP to the guest, packets/s")
	line("udp-to-host", "UDP to the host, packets/s")
}
