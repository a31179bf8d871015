# SPDX-License-Identifier: GPL-2.0
#
# Whose data races are these? awk -f races.awk races.list LOG passes a kernel's log on,
# without the reports of KCSAN that are no matter of ours: those with no function of kvnet
# in either stack, and those that the list knows. Says on the error output how many it
# left out.
function trim(text)
{
	gsub(/^[ \t]+|[ \t]+$/, "", text)
	return text
}

function report_ends()
{
	if (ours && !known) {
		print report
		passed++
	} else if (ours) {
		listed++
	} else {
		others++
	}
	printf "%s", held
	reporting = 0
	held = ""
}

NR == FNR {
	if ($0 !~ /^#/ && split($0, part, /[ \t]+\|[ \t]+/) == 2)
		races[++n] = "^(" trim(part[1]) ")$"
	next
}

# what tests write into the log meanwhile
reporting && /kvnet-test: |selftest: / { held = held $0 "\n"; next }

/BUG: KCSAN: / {
	if (reporting)
		report_ends()
	report = $0
	reporting = 1
	ours = /BUG: KCSAN: assert/
	known = 0
	pair = $0
	sub(/.*BUG: KCSAN: [a-z-]+ in /, "", pair)
	gsub(/ \[[a-z_]+\]/, "", pair)
	pair = trim(pair)
	for (i = 1; i <= n; i++)
		known = known || pair ~ races[i]
	ours = ours || /\[kvnet\]/
	next
}

reporting && /==========/ { report_ends(); next }
reporting {
	report = report "\n" $0
	ours = ours || /\+0x[0-9a-f]+\/0x[0-9a-f]+ \[kvnet\]/
	next
}
{ print }

END {
	if (reporting)
		report_ends()
	if (passed + listed + others)
		printf "# data races: %d with kvnet in a stack, %d of those that races.list knows, %d of the kernel alone\n", passed, listed, others > "/dev/stderr"
}
