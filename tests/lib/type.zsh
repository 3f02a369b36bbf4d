# type.zsh SHELL SETUP LINE: see tests/lib/shells.sh.
zmodload zsh/zpty
export PATH=$GPUADM_DIR:$PATH TERM=dumb
zpty type ${=1}
trap 'zpty -d type 2>/dev/null' EXIT
said=
until_said() { # until_said PATTERN: at most 20 seconds
  local end=$((SECONDS + 20)) piece
  while [[ $said != *${~1}* ]]; do
    ((SECONDS < end)) || { print -r -- "no '$1' in: $said"; exit 1 }
    if zpty -r -t type piece; then said+=$piece; else sleep 0.1; fi
  done
  print -r -- $said
}
zpty -w type "$2"
until_said 'ready> '
said=
zpty -w type "$3; echo do''ne"
until_said done
said=
zpty -w type 'exit'
