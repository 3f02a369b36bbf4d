#!/usr/bin/env bash
# The rules of documents and commits accept this repository, and name each planted fault: links.sh, check-pages.sh, reference.sh, lines.sh,
# subjects.sh.
# shellcheck disable=SC2016 # the backquotes of Markdown
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
fresh() { rm -rf "${tree:?}"/* "$tree/.git" && cp -r "$top"/{docs,README*.md,CHANGELOG.md,LICENSE} "$tree/"; }
# refused RULE TEXT ARGUMENT...: the rule fails for the tree, with the text.
refused() {
  local rule=$top/tests/rules/$1.sh text=$2 said
  if said=$("$rule" "$tree" "${@:3}" 2>&1); then echo "passed: $text" && exit 1; fi
  grep -qF -- "$text" <<<"$said" || { echo "expected: $text, got: $(head -n 5 <<<"$said")" && exit 1; }
  fresh
}
fresh

mkdir "$tree/few"
printf '# A name, of `two` words\n\n[a](#a-name-of-two-words) [b](../docs/glossary.md) ![c](../docs/dashboard/light.png)\n' >"$tree/few/good.md"
"$top/tests/rules/links.sh" "$tree/few" 3
printf '# A\n\n[a](missing.md)\n' >"$tree/docs/bad.md"
refused links 'docs/bad.md:3: missing.md does not exist' 1
printf '[a](glossary.md#no-such-word)\n' >"$tree/docs/bad.md"
refused links 'docs/bad.md:1: glossary.md#no-such-word: no such anchor' 1
rm -r "$tree"/docs/* "$tree"/*.md
refused links 'only 0 links found' 1

sed -i '/^| \[`nct`\]/d' "$tree/docs/checks/README.md"
refused check-pages 'docs/checks/README.md does not list the area nct'
sed -i '/^| \[`nct`\]/d' "$tree/docs/checks/README.md"
refused check-pages 'nct.installed: no page of docs/checks'
echo '# gpu' >"$tree/docs/checks/gpu.md"
refused check-pages 'docs/checks/gpu.md is not written by hand'
touch "$tree/docs/reference/cli.md"
refused check-pages 'docs/reference/cli.md is generated'
sed -i 's/<a id=/<b id=/' "$tree/docs/checks/make"
refused check-pages 'cl.certs-expiry: no page of docs/checks has an anchor of it'
echo 'echo "[a](#nowhere)" >>"$folder/gpu.md"' >>"$tree/docs/checks/make"
refused check-pages 'checks/gpu.md:'

sed -i 's/Create a single-node/Make a single-node/' "$tree/docs/reference/commands.md"
refused reference 'docs/reference/commands.md is not what gpuadm prints'
echo '{}' >"$tree/docs/reference/cluster.schema.json"
refused reference 'docs/reference/cluster.schema.json is not what gpuadm prints'

long=$(printf 'word %.0s' {1..29})word
mkdir "$tree/only"
{
  printf -- '---\ntitle: %s\n---\n# %s\n\n| %s |\n|---|\n\n    %s\n\n```\n%s\n```\n\n' "$long" "$long" "$long" "$long" "$long"
  printf 'Code\n`%s`\nstays, as does\n[a](https://example.org/%0150d).\n' "$long" 0
} >"$tree/only/good.md"
echo "$long" >"$tree/only/good.zh-CN.md"
"$top/tests/rules/lines.sh" "$tree/only"
bad() { printf -- '- %s\n  - %s\n    %s\n\n> %s\n\n1. A\n   %s 1. %s\n' "$long" "$long" "$long" "$long" "$long" "$long"; }
bad >"$tree/docs/bad.md"
refused lines 'docs/bad.md:1: 151 characters, at most 120'
mkdir "$tree/only" && bad >"$tree/only/bad.md" && "$top/tests/rules/lines.sh" --fix "$tree/only"
# Lists and quotations stay, and no other line begins a list.
diff "$tree/only/bad.md" - <<END
- $(printf 'word %.0s' {1..22})word
  $(printf 'word %.0s' {1..6})word
  - $(printf 'word %.0s' {1..22})word
    $(printf 'word %.0s' {1..22})word
    $(printf 'word %.0s' {1..13})word

> $(printf 'word %.0s' {1..22})word
> $(printf 'word %.0s' {1..6})word

1. A $(printf 'word %.0s' {1..22})word
   $(printf 'word %.0s' {1..6})word 1. $(printf 'word %.0s' {1..15})word
   $(printf 'word %.0s' {1..13})word
END
fresh

commit() { git -C "$tree" -c user.name=t -c user.email=t@localhost commit -q --allow-empty -m "$1"; }
repository() { git -C "$tree" init -q && commit "$(printf '%073d' 0)" && git -C "$tree" rev-parse HEAD; }
base=$(repository)
commit "$(printf '%072d' 0)" && commit "docs: $(printf 'ü%.0s' {1..66})"
"$top/tests/rules/subjects.sh" "$tree" "$base"
commit "$(printf '%073d' 0)"
refused subjects 'the subject has 73 characters, at most 72' "$base"
status=0
"$top/tests/rules/subjects.sh" "$tree" "$base" >"$tree/said" || status=$?
[ "$status" = 77 ] && grep -q '^skip: ' "$tree/said"
