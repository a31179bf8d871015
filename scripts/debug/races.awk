# SPDX-License-Identifier: GPL-2.0
#
# Whose data races are these? awk -f races.awk races.list LOG passes a kernel's log on,
# without the reports of KCSAN that are no matter of ours. Ours are those in which a function
# of kvnet, or one that it called itself, made one of the two accesses: what the kernel does
# further down, in a wake-up or a page fault, is its own. Of these the list knows some. Says on
# the error output how many it left out.
function trim(text)
{
	gsub(/^[ \t\r]+|[ \t\r]+$/, "", text)
	return text
}

# The lesser one comes first, as in KCSAN's titles.
function name_by_tops(pair)
{
	pair = tops < 2 ? top[1] : top[1] < top[2] ? top[1] " / " top[2] : top[2] " / " top[1]
	sub(/ in [^\n]*/, " in " pair, report)
	gsub(/ \[[a-z_]+\]/, "", pair)
	known = is_known(pair)
}

function is_known(pair, i)
{
	for (i = 1; i <= n; i++)
		if (pair ~ races[i])
			return 1
	return 0
}

# with the name of its module
function function_of(line)
{
	sub(/.*\] +/, "", line)
	sub(/\+0x[0-9a-f]+\/0x[0-9a-f]+/, "", line)
	return trim(line)
}

function report_ends()
{
	if (own && tops)
		name_by_tops()
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
	own = tops = 0
	pair = $0
	sub(/.*BUG: KCSAN: [a-z-]+ in /, "", pair)
	gsub(/ \[[a-z_]+\]/, "", pair)
	known = is_known(trim(pair))
	ours = ours || /\[kvnet\]/
	next
}

reporting && /==========/ { report_ends(); next }
reporting {
	if (/ (by task|by interrupt) /) {
		depth = 0
	} else if (/\+0x[0-9a-f]+\/0x[0-9a-f]+/) {
		# User-Mode Linux's stack begins in whoever takes it
		if (!depth && /(^|\]) +(save_stack_trace|stack_trace_save|print_report|kcsan_|__tsan_)/) {
			own = 1
			next
		}
		if (!depth++)
			top[++tops] = function_of($0)
		ours = ours || (depth <= 2 && /\[kvnet\]/)
	}
	report = report "\n" $0
	next
}
{ print }

END {
	if (reporting)
		report_ends()
	if (passed + listed + others)
		printf "# data races: %d of kvnet, %d of those that races.list knows, %d of the kernel\n", passed, listed, others > "/dev/stderr"
}
