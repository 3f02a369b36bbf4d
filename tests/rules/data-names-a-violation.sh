#!/usr/bin/env bash
# tests/rules/data-has-dates.sh, advisories.sh, compatibility.sh and packaging/data-age accept this repository's data, and name each planted fault.
# The day is given: the result does not depend on the day of the test.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
fresh() { rm -rf "${tree:?}"/* && mkdir "$tree/playbooks" && cp -r "$top/data" "$top/docs" "$tree/" && cp "$top/playbooks/catalog.yaml" "$tree/playbooks/"; }
# refused RULE TEXT: the rule fails for the tree, with the text.
refused() {
  local rule=$1 said
  shift
  if said=$("$rule" "$tree" 2>&1); then echo "passed: $*" && exit 1; fi
  grep -qF -- "$*" <<<"$said" || { echo "expected: $*, got: $said" && exit 1; }
  fresh
}
dates=$top/tests/rules/data-has-dates.sh advisories=$top/tests/rules/advisories.sh age=$top/packaging/data-age
compatibility=$top/tests/rules/compatibility.sh

fresh
"$dates" "$tree" && "$advisories" "$tree"
echo '99999,X,false,report,gpud,' >>"$tree/data/sxid.csv"
refused "$dates" 'data/sxid.csv:207: "" is not a day'
echo '99999,X,false,report,gpud,2026-02-30' >>"$tree/data/sxid.csv"
refused "$dates" 'data/sxid.csv:207: "2026-02-30" is not a day'
echo '99999,X,false,report,gpud,2126-01-01' >>"$tree/data/sxid.csv"
refused "$dates" 'data/sxid.csv:207: seen on 2126-01-01, after the date of playbooks/catalog.yaml'
echo '99999,X,false,report,hearsay,2026-01-01' >>"$tree/data/sxid.csv"
refused "$dates" 'data/sxid.csv:207: "hearsay" is not a source'
echo 'a,b' >"$tree/data/other.csv"
refused "$dates" 'data/other.csv: the last columns are not source,seen'
sed -i 's/^  runc_version: { seen/  other: { seen/' "$tree/playbooks/catalog.yaml"
refused "$dates" 'playbooks/catalog.yaml: runc_version has no entry under sources'
sed -i 's/^date: .*/date: "yesterday"/' "$tree/playbooks/catalog.yaml"
refused "$dates" 'playbooks/catalog.yaml: date: "yesterday" is not a day'

sed -i 's/^  runc_version: .*/  runc_version: "1.4.3"/' "$tree/playbooks/catalog.yaml"
refused "$advisories" 'playbooks/catalog.yaml: runc_version 1.4.3 is affected by CVE-2026-119101, fixed in 1.4.4'
sed -i '0,/containerd_version: "1.7.36"/s//containerd_version: "1.7.34"/' "$tree/playbooks/catalog.yaml"
refused "$advisories" 'playbooks/catalog.yaml: containerd_version 1.7.34 is affected by CVE-2026-53493, fixed in 1.7.36'
sed -i 's/dcgm-exporter:4.6.0-4.8.3/dcgm-exporter:4.6.0-4.8.2/' "$tree/playbooks/catalog.yaml"
refused "$advisories" 'playbooks/catalog.yaml: dcgm_exporter_image 4.8.2'
sed -i '/^      GHSA-c4gm-pwx9-9w8j:/d' "$tree/playbooks/catalog.yaml"
refused "$advisories" 'jupyterhub_hub_image 4.4.0 is affected by GHSA-c4gm-pwx9-9w8j'
echo 'runc,,1.4.0,1.4.9,high,CVE-2099-0001,host,planted,https://example.org/,2026-11-29' >>"$tree/data/advisories.csv"
refused "$advisories" 'runc_version 1.4.4 is affected by CVE-2099-0001, fixed in 1.4.9'
echo 'runc,,1.4.9,1.4.0,high,CVE-2099-0001,,planted,https://example.org/,2026-11-29' >>"$tree/data/advisories.csv"
refused "$advisories" 'runc CVE-2099-0001: fixed in 1.4.0, not after 1.4.9'
echo 'runc,,9.0.0,,terrible,CVE-2099-0001,,planted,https://example.org/,2026-11-29' >>"$tree/data/advisories.csv"
refused "$advisories" 'unknown severity: terrible'
echo 'runc,,9.0.0,,high,some hole,,planted,https://example.org/,2026-11-29' >>"$tree/data/advisories.csv"
refused "$advisories" 'not an identifier'

"$compatibility" "$tree"
sed -i 's/^1.36.3,2.1.9,/1.36.3,2.3.7,/' "$tree/data/ran.csv"
refused "$compatibility" 'docs/compatibility.md is not what the data say'
sed -i 's/^1.37,3.7,3.6.11,/1.37,3.7,3.6.12,/' "$tree/data/kubernetes.csv"
refused "$compatibility" 'docs/compatibility.md is not what the data say'
sed -i 's/^  toolkit_version: .*/  toolkit_version: "1.21.0"/' "$tree/playbooks/catalog.yaml"
refused "$compatibility" 'docs/compatibility.md is not what the data say'
sed -i 2,\$d "$tree/data/ran.csv"
refused "$compatibility" 'docs/make-compatibility prints no cell'

sed -i 's/^date: .*/date: "2026-11-29"/' "$tree/playbooks/catalog.yaml"
GPUADM_TODAY=2027-01-28 "$age" "$tree"
export GPUADM_TODAY=2027-01-29
refused "$age" 'the data are from 2026-11-29, 61 days ago'
