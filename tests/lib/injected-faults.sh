# shellcheck shell=bash disable=SC2154
# Injects faults into the host "node", one after the other: the report's first line names each, and what follows is folded. Expects
# tests/e2e/common, and the host in cluster.yaml. With GPUADM_REWRITE_CASES set the first lines are kept for docs/doctor-faults.md.
# shellcheck source=tests/faults/lab.sh
. "$top/tests/faults/lab.sh"

# on_node FUNCTION: runs it there.
on_node() {
  {
    echo 'set -e; export KUBECONFIG=/etc/kubernetes/admin.conf'
    declare -f kubelet_restarts "$1"
    echo "$1"
  } | timeout 480 "$top/tests/lab/lab" ssh node bash -s
}

# The disk of the lab is shared: etcd may be slow at any time.
doctor() { # doctor STAGE OPTION...
  local stage=$1
  shift
  timeout 60 "$top/tests/lab/lab" net "$GPUADM" doctor -f cluster.yaml --stage "$stage" --skip st.etcd-metrics-latency --fail-on never "$@" </dev/null
}

# Findings of a healthy lab host: those that exist only in labs are ignored.
is_well() { doctor "$1" -o json >"$1.json"; }

# names FAULT: whether the first line names it, and what follows from it is below it.
names() {
  local id stage=${stage_of[$1]}
  doctor "$stage" --baseline "$stage.json" >out 2>err || return 1
  head -n 1 out | grep >/dev/null -E "^(First broken link|Warning): .* \(${leads_of[$1]}\)" || return 1
  for id in ${folds_of[$1]}; do grep -q "^ *also: .*($id)$" out || return 1; done
}

all_is_ready() {
  kubectl wait --for=condition=Ready --timeout=240s node --all
  kubectl wait -n kube-system --for=condition=Ready --timeout=240s pods --all
}

wrong=() left=()
: >results.tsv
try() { # try FAULT
  local verdict=named begun=$SECONDS
  on_node "$1.breaks" >breaks.log 2>&1 || verdict="not injected: $(tail -n 1 breaks.log)"
  [ "$verdict" != named ] || names "$1" || verdict=missed
  [ "$verdict" = "${verdict#not}" ] || : >out
  printf '%s\t%s\n' "$1" "$(head -n 1 out)" >>results.tsv
  printf '%-34s %-9s %s s  %s\n' "$1" "${stage_of[$1]}" "$((SECONDS - begun))" "$verdict"
  # Some forks of Kubernetes only log a warning for an unknown gate: with such a bundle, this fault cannot be injected.
  case ${GPUADM_LAB_BUNDLE:+bundle}/$1/$verdict in
    */named) ;;
    bundle/unknown-gate/*'starts despite the fault') left+=("$1") ;;
    *) wrong+=("$1") && head -n 20 out ;;
  esac
  on_node "$1.repairs" >repairs.log 2>&1 || { cat repairs.log && fail "$1 could not be repaired"; }
}

try_all() { # try_all STAGE
  local name
  is_well "$1"
  for name in "${faults[@]}"; do [ "${stage_of[$name]}" != "$1" ] || try "$name"; done
}

# ends: prints the count, keeps the lines of these faults, and fails if one was not named.
ends() {
  local kept=$top/tests/faults/lab-results.tsv
  if [ -n "${GPUADM_REWRITE_CASES:-}" ]; then
    { awk -F'\t' 'NR == FNR { known[$1] = 1; next } !($1 in known)' results.tsv "$kept" && cat results.tsv; } | sort >all.tsv
    cp all.tsv "$kept"
  fi
  echo "$(wc -l <results.tsv) faults, ${#wrong[@]} not named: ${wrong[*]-}"
  [ ${#left[@]} = 0 ] || echo "left out: the kubelet of this build starts despite ${left[*]}"
  [ ${#wrong[@]} = 0 ]
}
