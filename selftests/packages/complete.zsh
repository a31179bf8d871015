#!/usr/bin/zsh -f
# SPDX-License-Identifier: GPL-2.0
#
# What zsh offers for a line that has been typed so far, a word on each line.
#
#   complete.zsh "kvnetctl set tap0 c"
zmodload zsh/zpty
zpty shell TERM=dumb zsh -f -i
# compadd is told what is offered; its own work is needed, too
zpty -w shell "PS1= PS2= RPS1=; stty -echo
autoload -Uz compinit && compinit -u -D
compadd() {
	local -a offered
	builtin compadd -O offered \"\$@\"
	print -lr -- OFFERED\ \$^offered
	builtin compadd \"\$@\"
}
list() { zle complete-word; print -r ENDED; exit }
zle -C complete-word complete-word _main_complete
zle -N list
bindkey ^X list
print -r BEGUN"
zpty -r -m shell seen '*BEGUN*' || exit 1
zpty -w -n shell "$1"$'\C-x'
zpty -r -m shell seen '*ENDED*' || exit 1
print -r -- $seen | tr -d '\r' | sed -n 's/^.*OFFERED //p' | sort -u
