# SPDX-License-Identifier: GPL-2.0
#
# Can a test tell differences of some per cent? How far a backend is from its twin says so.
#
#   awk -v what=ratios -v test=NAME -f chance.awk    rows of one time in which backends took
#       turns: of each metric the median of the ratios, slice by slice: "NAME metric ratio"
#   awk -v what=open -v within=0.05 -f chance.awk    such lines of all times: the names of the
#       tests that cannot tell yet, one a line
#
# A ratio's interval is that of the sign test, 95 % or more: no assumption on what is between.

function value_of(name,    i) {
	for (i = 2; i <= NF; i++)
		if (index($i, name "=") == 1)
			return substr($i, length(name) + 2)
	return ""
}

function sort(list, n,    i, k, swap) {
	for (i = 2; i <= n; i++) {
		swap = list[i]
		for (k = i - 1; k > 0 && list[k] > swap; k--)
			list[k + 1] = list[k]
		list[k + 1] = swap
	}
}

function median(list, n) {
	sort(list, n)
	return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}

# The ends of the interval are list[rank] from below and from above; 0: too few values. As in
# tools/bench/stats.py: so often, or less, does a coin fall on one side.
function rank(n,    at, term, sum) {
	sum = term = 0.5 ^ n
	for (at = 0; sum < 0.025; sum += term) {
		at++
		term *= (n - at + 1) / at
	}
	return at
}

function ratio(top, bottom,    a, b, n, m, i, list, k) {
	n = split(top, a, ",")
	m = split(bottom, b, ",")
	if (n != m)
		return 0
	for (i = 1; i <= n; i++)
		if (b[i] > 0)
			list[++k] = a[i] / b[i]
	# mostly nothing, of a worker that nobody woke: no measure
	return 2 * k > n ? median(list, k) : 0
}

BEGIN {
	# the middle of a distribution; its ends would need more than this lane has
	split("pps rate worker p50 sender", usual, " ")
	for (i in usual)
		is_usual[usual[i]] = 1
}

what == "ratios" && $1 == "@bench" && value_of("metric") in is_usual {
	backend = value_of("backend")
	metrics[value_of("metric")] = 1
	slices = value_of("slices")
	found[backend, value_of("metric")] = slices == "" ? value_of("value") : slices
	if (sub(/-twin$/, "", backend))
		twin = backend
}

what == "open" {
	count[$1, $2]++
	ratios[$1, $2, count[$1, $2]] = $3
	tests[$1] = 1
}

END {
	if (what == "ratios" && twin != "")
		for (metric in metrics)
			if (value = ratio(found[twin "-twin", metric], found[twin, metric]))
				print test, metric, value
	if (what != "open")
		exit
	for (name in count) {
		split(name, words, SUBSEP)
		n = count[name]
		for (i = 1; i <= n; i++)
			list[i] = ratios[name, i]
		sort(list, n)
		at = rank(n)
		if (!at || list[at] < 1 - within || list[n + 1 - at] > 1 + within)
			open[words[1]] = 1
	}
	for (test in open)
		print test
}
