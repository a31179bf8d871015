# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# bash completion for kvnetctl(8)

# Ids and taps of devices. The name of a tap is chosen by its creator, and compgen expands its
# words as a shell does: names with other characters are left out.
_kvnetctl_devices()
{
	kvnetctl list 2> /dev/null | LC_ALL=C awk 'NR > 1 && $1 ~ /^[0-9]+$/ { print $1 }
		NR > 1 && $2 ~ /^[A-Za-z0-9_][A-Za-z0-9_.+-]*$/ { print $2 }'
}

_kvnetctl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command='' words='' i at=0
	local commands="list show stats top set monitor rules features doctor"
	local settings="cpus node nice sched rt-priority poll-us tx-inline rx-direct rx-inline shortcut"
	local options="--json --pretty --help --version"

	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} != -* ]] || continue
		if [[ -z $command ]]; then
			command=${COMP_WORDS[i]} at=$i
		fi
	done
	case $prev in
	-i | --interval | -n | --count) return ;;
	-s | --sort) words="id tap pid name rx_pps rx_bps tx_pps tx_bps drops batch cpu state" ;;
	esac
	if [[ -n $words ]]; then
		:
	elif [[ $cur == -* ]]; then
		case $command in
		stats) options+=" --interval --count --all --prometheus" ;;
		top) options+=" --interval --count --sort --batch" ;;
		monitor) options+=" --count" ;;
		rules) options+=" --dry-run" ;;
		'') options+=" --prometheus" ;;
		esac
		words=$options
	elif [[ -z $command ]]; then
		words=$commands
	else
		case $command in
		show | stats) words=$(_kvnetctl_devices) ;;
		set)
			if ((COMP_CWORD == at + 1)); then
				words=$(_kvnetctl_devices)
			else
				case $prev in
				tx-inline | rx-direct | rx-inline | shortcut) words="on off" ;;
				sched) words="other batch idle fifo rr" ;;
				cpus) words="all" ;;
				node) words="auto none" ;;
				nice | rt-priority | poll-us) ;;
				*) words=$settings ;;
				esac
			fi
			;;
		rules)
			if ((COMP_CWORD == at + 1)); then
				words="check apply run"
			else
				mapfile -t COMPREPLY < <(compgen -f -- "$cur")
				return
			fi
			;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _kvnetctl kvnetctl
