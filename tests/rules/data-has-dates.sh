#!/usr/bin/env bash
# Each row of data/*.csv and each key of playbooks/catalog.yaml has a source, and the day on which it was seen there: a real day, not after
# `date` of the catalog. A source is an https address, a file of this repository, or a name in data/origins.csv. A document of this
# repository mentions the day.
#   tests/rules/data-has-dates.sh [TREE]
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"
catalog=playbooks/catalog.yaml
looked=$(sed -n 's/^date: "\(.*\)"$/\1/p' $catalog)
failed=0
say() { printf '%s\n' "$*" && failed=1; }
is_day() { [[ $1 =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]] && [ "$(date -u -d "$1" +%F 2>/dev/null)" = "$1" ]; }
# judge WHERE SOURCE DAY
judge() {
  if [ -z "$3" ] || ! is_day "$3"; then
    say "$1: \"$3\" is not a day"
  elif [[ $2 = docs/*.md: || $2 = docs/*.md ]]; then
    # What the project ran itself, with the day in that document.
    grep -qF "$3" "${2%:}" || say "$1: ${2%:} does not mention $3"
  elif [[ $3 > $looked ]]; then
    say "$1: seen on $3, after the date of $catalog, $looked"
  fi
  local part
  for part in ${2//;/ }; do
    case $part in
      https://?*) return ;;
      docs/*) [ ! -e "${part%:}" ] || return 0 ;;
      *) ! grep -q "^$part,https://" data/origins.csv || return 0 ;;
    esac
  done
  say "$1: \"$2\" is not a source: give an https address, a file of this repository, or a name in data/origins.csv"
}

is_day "$looked" || say "$catalog: date: \"$looked\" is not a day"
for file in data/*.csv; do
  [ "$file" != data/origins.csv ] || continue
  IFS= read -r header <"$file"
  case $header in *,source,seen) ;; *) say "$file: the last columns are not source,seen" && continue ;; esac
  # Neither column has a comma, so that the last two cells are read without their quotes. Each pair is judged once.
  while IFS=$'\t' read -r line source day; do judge "$file:$line" "$source" "$day"; done < <(
    awk 'NR > 1 { n = split($0, cell, ","); pair = cell[n - 1] "\t" cell[n]; if (!(pair in seen)) print NR "\t" pair; seen[pair] }' "$file"
  )
done

# The keys of the catalog, and those of its sources.
keys=$({ echo notebooks && sed -n '/^defaults:/,/^perKubernetes:/s/^  \([a-z_]*\):.*/\1/p' $catalog &&
  sed -n '/^perKubernetes:/,/^[#s]/p' $catalog | grep -oE '[a-z_]+: ' | tr -d ': '; } | sort -u)
[ "$(wc -w <<<"$keys")" -ge 25 ] || say "$catalog: only $(wc -w <<<"$keys") keys were found"
for key in $keys; do
  entry=$(sed -n "/^sources:/,\$p" $catalog | awk -v key="  $key:" 'index($0, key) == 1 { on = 1; print; next } /^  [a-z]/ { on = 0 } on')
  [ -n "$entry" ] || { say "$catalog: $key has no entry under sources" && continue; }
  judge "$catalog: $key" "$(grep -oE 'source: *"?[^" ]+' <<<"$entry" | sed 's/source: *"\{0,1\}//')" "$(grep -oE 'seen: *"[^"]*' <<<"$entry" | sed 's/.*"//')"
done
exit $failed
