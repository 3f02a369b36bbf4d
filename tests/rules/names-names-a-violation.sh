#!/usr/bin/env bash
# tests/rules/names.sh refuses each form of its list as a function, a lambda and a name of a test, and nothing in comments and texts.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{src,tests}
cat >"$tree/src/good.cpp" <<'END'
// bring_bundle says; R"(TakeBack)"
const char* text = "lay_region", *raw = R"(went_away)";
void bring_up(int namespace_count, int ns, int message, int timeout) { auto free = fs::space("."); }
END
"$top/tests/rules/names.sh" "$tree"
mapfile -t forms < <(grep -vE '^(#|$)' "$top/tests/rules/names.tsv")
[ "${#forms[@]}" -ge 12 ]
forms+=($'\tx\thand_over' $'\tx\tgo_on_rebooting') # two of language.tsv
for form in "${forms[@]}"; do
  IFS=$'\t' read -r _ say name <<<"${form/#$'\t'/-$'\t'}"
  printf 'int first;\nvoid %s();\nauto f = [] { auto %s = [&] { return 1; }; };\n' "$name" "$name" >"$tree/tests/bad.cpp"
  if said=$("$top/tests/rules/names.sh" "$tree"); then echo "passed: $name" && exit 1; fi
  for line in 2 3; do grep -q "^tests/bad.cpp:$line: $name: say " <<<"$said" || { echo "$name: $said" && exit 1; }; done
  [ "$say" = x ] || grep -qF ": say $say" <<<"$said" || { echo "$name: $said" && exit 1; }
done
