#!/usr/bin/env bash
# Commands and options in README, quickstarts and how-to guides exist.
. "$(dirname "$0")/common"

# is_verb WORD...: whether gpuadm's help knows it below the words before it.
is_verb() { gpuadm "${@:1:$#-1}" --help | grep -qE "^  ${*: -1}( |$)"; }

bad=0
while IFS=: read -r file line command; do
  read -ra words <<<"${command%%#*}"
  verb=()
  help=$(gpuadm --help)
  for word in "${words[@]:1}"; do
    case $word in
      -- | "|") break ;;
      -*)
        grep -qE -- "(^|[ ,])${word%%=*}([][ ,=]|\$)" <<<"$help" || { echo "$file:$line: gpuadm ${verb[*]} has no $word" && bad=1; }
        ;;
      *)
        if [[ $word =~ ^[a-z]+(-[a-z]+)*$ ]] && is_verb "${verb[@]}" "$word"; then
          verb+=("$word") && help=$(gpuadm "${verb[@]}" --help && gpuadm --help)
        elif [ ${#verb[@]} = 0 ]; then
          echo "$file:$line: no such verb: $word" && bad=1
        fi
        ;;
    esac
  done
done < <(cd "$top" && grep -nE '^ +\$ gpuadm ' README*.md docs/quickstart/*.md docs/howto/*.md | sed -E 's/: +\$ /:/')
[ "$bad" = 0 ]
