#!/usr/bin/env bash
# Commands and options in README, quickstarts and how-to guides exist.
. "$(dirname "$0")/common"

# help_of WORD...: the help of a command, asked once. Sets $help.
declare -A known=()
help_of() {
  local command="gpuadm $*"
  [ -n "${known[$command]:-}" ] || known[$command]=$(gpuadm "$@" --help)
  help=${known[$command]}
}
# is_verb WORD...: whether gpuadm's help knows it below the words before it.
is_verb() {
  help_of "${@:1:$#-1}"
  [[ $'\n'$help =~ $'\n  '"${*: -1}"( |$'\n'|$) ]]
}
has_option() { [[ $help =~ (^|[ ,$'\n'])"$1"([]['  ,='$'\n']|$) ]]; }

bad=0
while IFS=: read -r file line command; do
  read -ra words <<<"${command%%#*}"
  verb=()
  for word in "${words[@]:1}"; do
    case $word in
      -- | "|") break ;;
      -*)
        help_of "${verb[@]}"
        has_option "${word%%=*}" || { help_of && has_option "${word%%=*}"; } || { echo "$file:$line: gpuadm ${verb[*]} has no $word" && bad=1; }
        ;;
      *)
        if [[ $word =~ ^[a-z]+(-[a-z]+)*$ ]] && is_verb "${verb[@]}" "$word"; then
          verb+=("$word")
        elif [ ${#verb[@]} = 0 ]; then
          echo "$file:$line: no such verb: $word" && bad=1
        fi
        ;;
    esac
  done
done < <(cd "$top" && grep -nE '^ +\$ gpuadm ' README*.md docs/quickstart/*.md docs/howto/*.md | sed -E 's/: +\$ /:/')
[ "$bad" = 0 ]
