#!/usr/bin/env bash
# gpuadm addon show prints the catalogue without a host; unknown names and settings are refused before a host is contacted, with the nearest name.
. "$(dirname "$0")/common"

for name in local-path metrics-server dcgm-exporter prometheus jupyterhub; do
  exits 0 gpuadm addon show "$name"
  says "$name: "
  says "proof "
  exits 0 gpuadm addon show "$name" -o json
  jq -e '.settings | length <= 3' out >/dev/null || fail "$name has more than three settings"
done
exits 0 gpuadm addon show kubeflow-trainer
says "gpuadm train run -f FILE"
exits 2 gpuadm addon show grafana
complains "unknown add-on: grafana"
exits 2 gpuadm addon enable metrics-sever nowhere.invalid
complains "did you mean metrics-server?"
exits 2 gpuadm addon enable kubeflow-trainer nowhere.invalid
complains "gpuadm addon show kubeflow-trainer"
exits 2 gpuadm addon enable prometheus nowhere.invalid --set retention=forever
complains "such as 15d"
exits 2 gpuadm addon enable prometheus nowhere.invalid --set storage=data --set size=20
complains "--set size: 20 is 20 B, less than 1Mi"
complains "did you mean 20Gi?"
exits 2 gpuadm addon enable prometheus nowhere.invalid --set retention
complains "the value is missing"
exits 2 gpuadm addon disable nothing nowhere.invalid
complains "unknown add-on: nothing"
exits 2 gpuadm bundle create --for cluster.yaml --addon nothing -o ./bundle
complains "unknown add-on: nothing"
