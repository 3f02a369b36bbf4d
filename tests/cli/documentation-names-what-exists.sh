#!/usr/bin/env bash
# Commands and options exist that documents show: in blocks, with or without a prompt and sudo, and in running text between backquotes.
. "$(dirname "$0")/common"

# help_of WORD...: the help of a command, asked once. Sets $help.
declare -A known=()
help_of() {
  local command="gpuadm $*"
  [ -n "${known[$command]:-}" ] || known[$command]=$(gpuadm "$@" --help all 2>/dev/null || gpuadm "$@" --help)
  help=${known[$command]}
}
# is_verb WORD...: whether gpuadm's help knows it below the words before it.
is_verb() {
  help_of "${@:1:$#-1}"
  [[ $'\n'$help =~ $'\n  '"${*: -1}"( |$'\n'|$) ]]
}
has_option() { [[ $help =~ (^|[ ,$'\n'])"$1"([]['  ,='$'\n']|$) ]]; }

# commands FILE...: FILE:LINE:COMMAND of each.
commands() {
  perl -ne '
    if (/^ {4,}(?:[a-z]*\$ (?:.* )?|sudo )?(gpuadm .*)/) { print "$ARGV:$.:$1\n" }
    elsif (!/^ {4}/) { print "$ARGV:$.:$1\n" while /`(?:sudo )?(gpuadm [^`]+)`/g }
    close ARGV if eof;
  ' "$@"
}

bad=0 read=0
while IFS=: read -r file line command; do
  read=$((read + 1))
  read -ra words <<<"${command%% #*}"
  verb=()
  for word in "${words[@]:1}"; do
    case $word in
      -- | "|" | ">"* | "&&" | ";" | [a-z]*"|"*) break ;;
      -*)
        word=${word%%[],;]*} help_of "${verb[@]}"
        has_option "${word%%=*}" || { help_of && has_option "${word%%=*}"; } || { echo "$file:$line: gpuadm ${verb[*]} has no $word" && bad=1; }
        ;;
      *)
        if [[ $word =~ ^[a-z]+(-[a-z]+)*$ ]] && is_verb "${verb[@]}" "$word"; then
          verb+=("$word")
        elif [ ${#verb[@]} = 0 ] && [[ $word =~ ^[a-z] ]]; then
          echo "$file:$line: no such verb: $word" && bad=1
        fi
        ;;
    esac
  done
done < <(cd "$top" && commands CHANGELOG.md README*.md docs/*.md docs/reference/*.md docs/quickstart/*.md docs/howto/*.md)
[ "$read" -gt 300 ] || { echo "only $read commands found" && bad=1; }
[ "$bad" = 0 ]
