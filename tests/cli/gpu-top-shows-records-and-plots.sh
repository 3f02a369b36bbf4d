#!/usr/bin/env bash
# gpuadm gpu top shows the GPUs of this machine, records them, and makes a page of the record. nvidia-smi is a double with real output.
. "$(dirname "$0")/common"
needs jq timeout

# No nvidia-smi of another test hangs meanwhile.
exec 9<"$top/tests/lab/gpu-double/nvidia-smi" && flock -s 9
mkdir double
cp "$top"/tests/lab/gpu-double/h200x2/* "$top/tests/lab/gpu-double/help-query-gpu.txt" double
sed "s|^here=.*|here=$PWD/double|; s|^programs=.*|programs=$PWD/double/programs|" "$top/tests/lab/gpu-double/nvidia-smi" >double/nvidia-smi
chmod +x double/nvidia-smi
export PATH=$PWD/double:$PATH
printf 'GPU-00112233-4455-6677-8899-aabbccddee01, %s, 2048, /usr/bin/bash\n' $$ >double/programs

exits 0 gpuadm gpu top --count 1
says "2 GPUs on 1 host: utilization 0%"
says "NVIDIA H200"
says "0.0/140.4"
says "bash (pid $$)"
exits 0 gpuadm gpu top --count 2 --interval 1 --record day.jsonl -o json
[ "$(wc -l <out)" = 2 ] || fail "not one object an interval"
jq -es 'all(.gpus | length == 2 and all(.uuid != "" and .utilization == 0 and .memoryTotalMiB == 143771 and .powerLimitW == 700))' out >/dev/null || fail "the GPUs are wrong"
jq -es --argjson pid $$ 'all(.gpus[1].processes == [{ pid: $pid, name: "/usr/bin/bash", memoryMiB: 2048, pod: null, kind: null, workload: null, container: null }])' out >/dev/null ||
  fail "the process is wrong"
cmp out day.jsonl || fail "the record differs from the output"
[ "$(stat -c %a day.jsonl)" = 600 ] || fail "others may read the record"
exits 2 gpuadm gpu top --count 1 --record day.jsonl
complains "choose another file for --record"

# The record, as text, as JSON and as a page.
exits 0 gpuadm gpu top --from day.jsonl
[ "$(grep -c '2 GPUs on 1 host' out)" = 2 ] || fail "not a block for each sample"
exits 0 gpuadm gpu top --from day.jsonl -o json
cmp out day.jsonl || fail "the JSON of a record differs from it"
exits 0 gpuadm gpu top --from day.jsonl -o html
[ "$(grep -o '<svg' out | wc -l)" = 8 ] || fail "not four plots for each GPU"
hides 'https?:|src=|<script|url\('
says "bash (pid $$)"
# A record whose writer was killed ends within a line; other damage is named.
head -c -20 day.jsonl >killed.jsonl
exits 0 gpuadm gpu top --from killed.jsonl
[ "$(grep -c '2 GPUs on 1 host' out)" = 1 ] || fail "not the complete sample only"
{ echo nonsense && cat day.jsonl; } >damaged.jsonl
exits 2 gpuadm gpu top --from damaged.jsonl
complains "damaged.jsonl:1"
: >empty.jsonl
exits 2 gpuadm gpu top --from empty.jsonl
complains "the record is empty"
complains "gpuadm gpu top --record FILE"
exits 2 gpuadm gpu top --from .
complains ". is a directory"

# Ctrl-C ends it; a page is written then.

timeout -s INT 10 "$GPUADM" gpu top --interval 1 -o html >out 2>err </dev/null || true
complains "sampling every 1s until Ctrl-C"
says "</html>"
timeout -s INT 10 "$GPUADM" gpu top --interval 1 --sort util >out 2>err </dev/null || true
[ "$(grep -c '2 GPUs on 1 host' out)" -ge 2 ] || fail "not a block for each interval"

# A host without a driver, and one without nvidia-smi.
printf '#!/bin/sh\necho "No devices were found"\nexit 6\n' >double/nvidia-smi
exits 0 gpuadm gpu top --count 1
says "No devices were found"
says "no readings for"

exits 2 gpuadm gpu top --interval 0
exits 2 gpuadm gpu top --sort heat
exits 2 gpuadm gpu top --from day.jsonl somehost
exits 2 gpuadm gpu top --from day.jsonl --record other.jsonl
exits 2 gpuadm gpu top --from missing.jsonl
complains "cannot read missing.jsonl"
