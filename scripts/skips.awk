# SPDX-License-Identifier: GPL-2.0
#
# What was skipped, and whether it may be: awk -f skips.awk skips.list FILE, whose lines
# are "where<tab>test<tab>reason". Prints one line for each test file and reason: "# skipped"
# or, where the list does not allow it, "not ok". With -v any=1 all is allowed.
function trim(text)
{
	gsub(/^[ \t]+|[ \t]+$/, "", text)
	return text
}

function say(key, part, text)
{
	split(key, part, "\t")
	text = part[1] ": " (count[key] > 1 ? count[key] " of " part[2] : first[key]) ": " part[3]
	if (why[key] != "")
		print "# skipped: " text " (" why[key] ")"
	else
		print "not ok - skipped: " text
}

NR == FNR {
	if ($0 ~ /^#/ || split($0, part, /[ \t]+\|[ \t]+/) != 3)
		next
	where[++rules] = "^(" trim(part[1]) ")$"
	what[rules] = "^(" trim(part[2]) ")$"
	because[rules] = trim(part[3])
	next
}

{
	split($0, part, "\t")
	reason = any ? "allowed" : ""
	for (i = 1; i <= rules && (reason == "" || any); i++)
		if (part[1] ~ where[i] && part[2] ": " part[3] ~ what[i]) {
			reason = because[i]
			break
		}
	# what is not allowed stands alone, and fails alone
	file = part[2]
	if (reason != "")
		sub(/\..*/, "", file)
	key = part[1] "\t" file "\t" part[3]
	if (!(key in count)) {
		keys[++n] = key
		first[key] = part[2]
		why[key] = reason
	}
	count[key]++
}

END {
	for (i = 1; i <= n; i++)
		say(keys[i])
}
