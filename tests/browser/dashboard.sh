#!/usr/bin/env bash
# The page of gpuadm dashboard in Chromium: it loads, updates, survives a host that goes away, can be used by keyboard and by a screen reader,
# loads nothing from elsewhere, and shows texts of hosts as text.
# shellcheck source=tests/cli/common
. "$(dirname "$0")/../cli/common"
# shellcheck source=tests/lib/dashboard.sh
. "$top/tests/lib/dashboard.sh"
# shellcheck source=tests/lib/browser.sh
. "$top/tests/lib/browser.sh"
needs jq curl python3
why=$(no_browser)
[ -z "$why" ] || skip "$why"

# The GPUs of the first host have a name that is HTML.
evil="<img src=x onerror=document.title='owned'>"
dashboard_double "$place/double"
dashboard_double "$place/evil"
sed -i "s|NVIDIA H200|$evil|" "$place/evil/commands.txt" "$place/evil/nvidia-smi-q-x.xml"
dashboard_also_ends() { browser_end; }
dashboard_hosts
path=$PATH
export PATH=$place/evil:$path
dashboard_begin --interval 1
browser_begin
touch out err

# It loads and updates.
visit "$address"
gpus=$([ -n "$root" ] && echo 4 || echo 2)
until_true "the GPUs are not shown" holds "document.querySelectorAll('#gpus tbody tr:not(.group)').length === $gpus"
holds "document.title === 'lab: gpuadm dashboard' && document.querySelector('h1').textContent === 'Cluster lab'" || fail "the title is $(script 'return document.title')"
holds "[...document.querySelectorAll('#gpus .detail')].some((one) => one.textContent.includes('<img src=x'))" || fail "the name of a GPU is not shown as text"
holds "!document.querySelector('img')" || fail "a text of a host became an element"
shown=$(script "return document.getElementById('updated').textContent")
until_true "it does not update" holds "document.getElementById('updated').textContent !== $shown"
until_true "plots do not grow" holds "(document.querySelector('.use .line').getAttribute('d').match(/L/g) || []).length >= 3"
until_true "the problems are not shown" holds "document.getElementById('problems-note').textContent !== 'The cluster has not been read yet.'"

# A GPU in quarantine is marked in words, with the time and the reason.
if [ -n "${sshd_apart:-}" ]; then
  until_true "a GPU in quarantine is not marked" holds "[...document.querySelectorAll('#gpus .apart')].filter((one) => !one.hidden && one.textContent.startsWith('in quarantine since ') && one.textContent.endsWith(': Xid 79 <b>4711</b>')).length === 1"
  holds "document.getElementById('totals').textContent.includes(', 1 in quarantine') && !document.querySelector('#gpus b')" || fail "the GPU in quarantine is not counted, or its reason became an element"
else
  echo "left out: a GPU in quarantine: needs root and unshare -m"
fi

# By keyboard: the first Tab is the link to the content, then come all sections and the button, each with a visible focus.
tab=$(printf '\xee\x80\x84') enter=$(printf '\xee\x80\x87')
reached=
for ((i = 0; i < 12; i++)); do
  press "$tab"
  reached+=$(script "const one = document.activeElement; return (one.getAttribute('href') || one.id || one.tagName) + ' ' + getComputedStyle(one).outlineStyle")$'\n'
done
[[ $reached == '"#main solid"'* ]] || fail "the first Tab does not reach the link to the content: $reached"
for one in pause '#problems' '#hosts' '#gpus' '#chain' '#workloads' '#health'; do
  grep -qF "\"$one solid\"" <<<"$reached" || fail "by keyboard, $one is not reached, or its focus is not visible: $reached"
done
script "document.getElementById('pause').focus()" >/dev/null
press "$enter"
holds "document.getElementById('pause').getAttribute('aria-pressed') === 'true'" || fail "Enter does not pause"
shown=$(script "return document.querySelector('.use .line').getAttribute('d')")
sleep 2.5
holds "document.querySelector('.use .line').getAttribute('d') === $shown" || fail "a paused page is updated"
press "$enter"
until_true "updates do not continue" holds "document.querySelector('.use .line').getAttribute('d') !== $shown"
holds "document.activeElement.id === 'pause'" || fail "an update takes the focus away"

# By screen reader: landmarks, headings, tables and plots with names.
protocol Accessibility.getFullAXTree '{}' |
  jq -r '.nodes[] | select(.ignored | not) | "\(.role.value)\t\(.name.value // "")"' >tree
for role in main navigation banner region table columnheader rowheader status; do grep -q "^$role	" tree || fail "there is no $role: $(cut -f1 tree | sort | uniq -c)"; done
for name in Problems Hosts GPUs 'Chain from driver to pod' 'Notebooks and jobs' 'Health timeline'; do grep -q "^heading	$name$" tree || fail "there is no heading $name"; done
! grep -qE '^(table|image|img|button|link)	$' tree || fail "an element has no name: $(grep -E '^(table|image|img|button|link)	$' tree | sort | uniq -c)"
holds "document.querySelectorAll('th:not([scope])').length === 0 && [...document.querySelectorAll('table')].every((one) => one.caption)" || fail "a table has no caption, or a header no scope"

# Light and dark, wide and narrow.
light=$(script 'return getComputedStyle(document.body).backgroundColor')
protocol Emulation.setEmulatedMedia '{"features":[{"name":"prefers-color-scheme","value":"dark"}]}' >/dev/null
[ "$(script 'return getComputedStyle(document.body).backgroundColor')" != "$light" ] || fail "dark is as light"
protocol Emulation.setEmulatedMedia '{"features":[]}' >/dev/null
protocol Emulation.setDeviceMetricsOverride '{"width":360,"height":740,"deviceScaleFactor":1,"mobile":false}' >/dev/null
until_true "a narrow page is wider than the screen" holds "document.documentElement.scrollWidth <= 360"
protocol Emulation.clearDeviceMetricsOverride '{}' >/dev/null

# A host goes away, and comes back.
if [ -n "$root" ]; then
  sshd_end
  until_true "a host that is away is not shown" holds "[...document.querySelectorAll('#host-rows tr')].some((row) => row.textContent.startsWith('gpu2') && row.textContent.includes('not answering') && row.textContent.includes('since'))"
  until_true "its values are not marked as old" holds "document.querySelectorAll('#gpus tr.old').length === 2 && document.querySelectorAll('#gpus tbody tr:not(.group):not(.old)').length === 2"
  until_true "it is not announced" holds "document.getElementById('announcer').textContent.includes('Not answering: gpu2')"
  shown=$(script "return document.querySelector('.use .line').getAttribute('d')")
  until_true "the other host stands still" holds "document.querySelector('.use .line').getAttribute('d') !== $shown"
  sshd_begin
  until_true "it does not come back" holds "document.querySelectorAll('#gpus tr.old').length === 0"
fi

# A second window shows the same.
first=$(curl -sS "$driver/session/$session/window" | jq -r .value)
second=$(webdriver window/new '{ "type": "window" }' | jq -r .value.handle)
webdriver window "$(jq -n --arg handle "$second" '$ARGS.named')" >/dev/null
visit "$address"
until_true "a second window shows no GPUs" holds "document.querySelectorAll('#gpus tbody tr:not(.group)').length === $gpus"
curl -sS -o /dev/null -X DELETE "$driver/session/$session/window"
webdriver window "$(jq -n --arg handle "$first" '$ARGS.named')" >/dev/null

# No request to another place, no error, and the end of gpuadm.
holds "performance.getEntriesByType('resource').every((one) => one.name.startsWith($(jq -n --arg url "$address" '$url')))" ||
  fail "something else was loaded: $(script "return performance.getEntriesByType('resource').map((one) => one.name)")"
holds "document.title === 'lab: gpuadm dashboard'" || fail "a text of a host was run as a script"
errors=$(console)
[ -z "$errors" ] || fail "errors in the console: $errors"
kill -INT "$dashboard_pid"
wait "$dashboard_pid" || fail "exit status $? after Ctrl-C"
dashboard_pid=
until_true "the end of gpuadm is not shown" holds "!document.getElementById('lost').hidden && document.getElementById('lost').textContent.includes('has not answered since')"
visit about:blank
console >/dev/null

# The page as a file: the same, and its policy allows its own script.
exits 0 "$GPUADM" dashboard -f cluster.yaml --interval 1 --count 2 -o html
cp out page.html
visit "file://$PWD/page.html"
until_true "the file shows no GPUs" holds "document.querySelectorAll('#gpus tbody tr:not(.group)').length === $gpus"
holds "getComputedStyle(document.querySelector('.hidden')).position === 'absolute'" || fail "the file has no style"
holds "document.title === 'lab: gpuadm dashboard' && !document.querySelector('img')" || fail "a text of a host was run as a script"
holds "performance.getEntriesByType('resource').length === 0" || fail "the file loads something"
errors=$(console)
[ -z "$errors" ] || fail "errors in the console of the file: $errors"
