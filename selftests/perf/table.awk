# SPDX-License-Identifier: GPL-2.0
#
# Reads "@pps <round> <kvnet|vhost> <case> <packets> <ns> <kicks> <calls>" lines;
# prints one table: medians with their spread, and their ratio. "pairs" is the
# median of the rounds' own ratios: what slows the machine down for a while slows
# both samples of a round. Round 0 is a warm-up and does not count.

$1 == "@pps" && $2 > 0 && $6 > 0 {
	n = ++count[$3, $4]
	value[$3, $4, n] = $5 * 1e3 / $6	# packets per microsecond: Mpps
	events[$3, $4] += 1000 * ($7 + $8) / $5
	if (!seen[$4]++)
		name[++names] = $4
	if ($3 == "kvnet")
		first = value[$3, $4, n]
	else if ($3 == "vhost")
		value["pair", $4, ++count["pair", $4]] = first / value[$3, $4, n]
}

function sort_values(b, c,    i, j, t)
{
	for (i = 2; i <= count[b, c]; i++)
		for (j = i; j > 1 && value[b, c, j] < value[b, c, j - 1]; j--) {
			t = value[b, c, j]
			value[b, c, j] = value[b, c, j - 1]
			value[b, c, j - 1] = t
		}
}

function median(b, c,    n, h)
{
	n = count[b, c]
	h = int((n + 1) / 2)
	return n % 2 ? value[b, c, h] : (value[b, c, h] + value[b, c, h + 1]) / 2
}

function cell(b, c)
{
	return sprintf("%.3f (%.3f..%.3f)", median(b, c), value[b, c, 1], value[b, c, count[b, c]])
}

function per_thousand(b, c)
{
	return sprintf("%.1f", events[b, c] / count[b, c])
}

END {
	printf "%-8s %8s %22s %22s %6s %6s %17s\n", "Mpps", "samples", "kvnet", "vhost_net", "ratio", "pairs", "kicks+calls/1000"
	for (i = 1; i <= names; i++) {
		c = name[i]
		if (!count["kvnet", c] || !count["vhost", c]) {
			printf "%-8s no samples of both backends\n", c
			continue
		}
		sort_values("kvnet", c)
		sort_values("vhost", c)
		sort_values("pair", c)
		printf "%-8s %8d %22s %22s %6.2f %6.2f %17s\n", c, count["kvnet", c], cell("kvnet", c), cell("vhost", c), \
			median("kvnet", c) / median("vhost", c), median("pair", c), \
			per_thousand("kvnet", c) " " per_thousand("vhost", c)
	}
}
