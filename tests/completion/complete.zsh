# complete.zsh FOLDER: for each line before "|" in FOLDER/lines what its last word becomes when Tab is
# pressed in an interactive zsh on a pseudo-terminal, "LINE<tab>WORD".
zmodload zsh/zpty
work=$1
cat >$work/.zshrc <<END
fpath=($work \$fpath)
autoload -U compinit
compinit -u -d $work/dump
PS1=
setopt no_beep
# Ctrl-X hands over the line and empties it.
tell() { print -r -- "\$BUFFER" >>$work/buffers; BUFFER= }
zle -N tell
bindkey '^X' tell
END
: >$work/buffers
zpty shell env ZDOTDIR=$work TERM=vt100 zsh -i
lines=()
while IFS='|' read -r line _; do lines+=($line); done <$work/lines
for line in $lines; do
  before=$(wc -l <$work/buffers)
  zpty -w -n shell "$line"$'\t\x18'
  for wait in {1..200}; do
    zpty -r -t shell echoed  # its echo would fill the pipe
    [[ $(wc -l <$work/buffers) -gt $before ]] && break
    sleep 0.05
  done
  full=$(tail -n 1 $work/buffers)
  word=${${full% }##* }
  printf '%s\t%s\n' $line ${word#--*=}
done
zpty -d shell
