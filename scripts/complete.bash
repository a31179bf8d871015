# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completes the names of tests in the top directory of a checkout: ". scripts/complete.bash",
# then "make uapi TESTS=mem<Tab>". All else that make takes is completed as before.

_kvnet_tests()
{
	local line=${COMP_LINE:0:COMP_POINT} verb before

	if [[ $line =~ (unit|uml|uapi|net|debug)\ .*TESTS=[\"\']?([^\"\']*)$ ]] && [ -x scripts/test.sh ]; then
		verb=${BASH_REMATCH[1]} line=${BASH_REMATCH[2]##* }
		# with and without their folder, and folders
		readarray -t COMPREPLY < <(compgen -W "$(scripts/test.sh names "$verb" | sed 's#\(.*/\)\(.*\)#&\n\1\n\2#' | sort -u)" -- "$line")
		# within quotes a word is all of it
		before=${2%"$line"}
		[ "$before" = = ] || COMPREPLY=("${COMPREPLY[@]/#/$before}")
	elif [ -n "$_KVNET_MAKE" ]; then
		"$_KVNET_MAKE" "$@"
	fi
}

# what completes make otherwise; bash-completion loads it only when asked
! declare -F _completion_loader > /dev/null || _completion_loader make || :
if [[ $(complete -p make 2> /dev/null) =~ -F\ ([^ ]+) ]] && [ "${BASH_REMATCH[1]}" != _kvnet_tests ]; then
	_KVNET_MAKE=${BASH_REMATCH[1]}
fi
: "${_KVNET_MAKE:=}"
complete -o default -F _kvnet_tests make
