#!/usr/bin/env bash
# The rows of data/advisories.csv are well formed, and no version that playbooks/catalog.yaml pins is affected by one, unless the catalog
# accepts it with a reason.
#   tests/rules/advisories.sh [TREE]
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"
catalog=playbooks/catalog.yaml
pins() {
  local key component
  while read -r key component; do
    { grep -oE "(^| )$key: *\"?[^\", }]+" $catalog || echo "$key: none" ; } | sed "s/.*$key: *\"\{0,1\}//; s/@.*//; s|.*/||; s/.*://; s/^v//" |
      sed "/^\(seen\|{\)/d; s|^|$key $component |"
  done <<'KEYS'
containerd_version containerd
runc_version runc
cni_plugins_version cni-plugins
toolkit_version toolkit
kubernetes kubernetes
flannel_image flannel
flannel_cni_image cni-plugins
device_plugin_image device-plugin
dcgm_exporter_image dcgm-exporter
jupyterhub_hub_image jupyterhub
KEYS
}
accepted=$(sed -n '/^    accepted:/,/^  [a-z]/s/^      \([A-Z0-9a-z-]*\): .*/\1/p' $catalog)
{ pins && printf '%s\n' --rows && cat data/advisories.csv; } | awk -v accepted="$accepted" '
  function number(text,  parts, n) {
    sub(/^v/, "", text)
    n = split(text, parts, /[.]/)
    return (parts[1] + 0) * 1e8 + (n > 1 ? parts[2] + 0 : 0) * 1e4 + (n > 2 ? parts[3] + 0 : 0)
  }
  function say(text) { print text; failed = 1 }
  BEGIN { n = split(accepted, ids, /\n/); for (i = 1; i <= n; i++) is_accepted[ids[i]] }
  $0 == "--rows" { rows = 1; next }
  !rows {
    if ($1 == "dcgm_exporter_image") sub(/^[0-9.]+-/, "", $3)
    if ($3 !~ /^[0-9]/) say("playbooks/catalog.yaml: " $1 " has no version")
    key[++pins] = $1; component[pins] = $2; version[pins] = $3; next
  }
  !header++ { FS = ","; next }
  {
    split($0, cell, ",")
    where = "data/advisories.csv: " cell[1] " " cell[6]
    if (cell[5] !~ /^(critical|high|medium|low|)$/) say(where ": unknown severity: " cell[5])
    if (cell[6] !~ /^(CVE-[0-9]+-[0-9]+|GHSA-[0-9a-z]+-[0-9a-z]+-[0-9a-z]+)$/) say(where ": not an identifier")
    if (cell[2] == "" && cell[4] != "" && number(cell[4]) <= number(cell[3])) say(where ": fixed in " cell[4] ", not after " cell[3])
    if (row[cell[1] cell[2] cell[3] cell[6]]++) say(where ": twice from " cell[3])
    for (i = 1; i <= pins; i++)
      if (cell[2] == "" && component[i] == cell[1] && number(version[i]) >= number(cell[3]) &&
          (cell[4] == "" || number(version[i]) < number(cell[4])) && !(cell[6] in is_accepted))
        say("playbooks/catalog.yaml: " key[i] " " version[i] " is affected by " cell[6] (cell[4] == "" ? "" : ", fixed in " cell[4]))
  }
  END {
    if (pins < 10) say("playbooks/catalog.yaml: only " pins + 0 " pinned versions were found")
    if (header < 1) say("data/advisories.csv has no row")
    exit failed + 0
  }'
