#!/usr/bin/env bash
# `train run --queue`: a suspended Job with the label of a queue, its place until Kueue admits it, Ctrl-C and --detach, and what cannot be queued.
# kubectl is a double, which admits a job after it was seen as often as the file says; nobody asks for free GPUs.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/kubectl-double.sh
. "$top/tests/lib/kubectl-double.sh"
needs python3

mkdir store
cat >bin/kubectl <<END
#!/usr/bin/env python3
import json, os, sys
place = "$place"
words = sys.argv[1:]
with open(place + "/calls", "a") as file: print(*words, file=file)
def stored():
    return [json.load(open(f"{place}/store/{name}")) for name in sorted(os.listdir(place + "/store"))]
def keep(one): json.dump(one, open(f"{place}/store/{one['kind'].lower()}.{one['metadata']['name']}", "w"))
def items(found): print(json.dumps({"kind": "List", "items": found}))
def jobs():
    for job in stored():
        if job["kind"] != "Job": continue
        if not job["spec"].get("suspend"): job["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
        yield job
def pods():
    for job in jobs():
        if job["spec"].get("suspend"): continue
        for rank in range(job["spec"].get("completions", 1)):
            labels = dict(job["spec"]["template"]["metadata"]["labels"], **{"batch.kubernetes.io/job-completion-index": str(rank)})
            yield {"kind": "Pod", "metadata": {"name": f"{job['metadata']['name']}-{rank}", "namespace": "default", "labels": labels,
                   "annotations": {"batch.kubernetes.io/job-completion-index": str(rank)}},
                   "spec": {"nodeName": "gpu1", "containers": [{"name": "rank"}]},
                   "status": {"phase": "Succeeded", "containerStatuses": [{"name": "rank", "state": {"terminated": {"exitCode": 0}}}]}}
def workload(job, created, gpus, message):
    return {"kind": "Workload", "metadata": {"name": f"job-{job}-1a2b3", "namespace": "default", "creationTimestamp": created,
            "ownerReferences": [{"kind": "Job", "name": job}]},
            "spec": {"queueName": "gpuadm", "podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": [
                {"name": "rank", "resources": {"limits": {"nvidia.com/gpu": gpus}}}]}}}]},
            "status": {"conditions": [{"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": message}]}}
def workloads():
    left = int(open(place + "/left").read())
    lacks = "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor gpuadm-gpu, 1 more needed"
    yield workload("ahead", "2026-11-29T08:00:00Z", "4", lacks)
    for job in jobs():
        if "kueue.x-k8s.io/queue-name" not in job["metadata"]["labels"]: continue
        if left == 0 and job["spec"]["suspend"]:
            job["spec"]["suspend"] = False
            keep(job)
        if job["spec"]["suspend"]: yield workload(job["metadata"]["name"], "2026-11-29T09:00:00Z", "1", lacks)
    with open(place + "/left", "w") as file: print(max(0, left - 1), file=file)
def row_of_a_pod(template):
    separator = template.split('"')[1]
    columns = ["default", "ben-0", "StatefulSet", "gpu1", "Running", "", '{"nvidia.com/gpu":"1"}'] + [""] * 12
    print("".join(separator + column for column in columns))
def row_of_a_node(template):
    separator = template.split('"')[1]
    gpus = '{"cpu":"8","memory":"16Gi","pods":"110","nvidia.com/gpu":"1"}'
    columns = ["gpu1", "{}", "", "", "", "Ready=True:KubeletReady ", gpus, gpus, "v1.36.2"] + [""] * 7
    print("".join(separator + column for column in columns))
queue = {"kind": "LocalQueue", "metadata": {"name": "gpuadm", "namespace": "default"}, "spec": {"clusterQueue": "gpuadm"}}
if "create" in words:
    given = json.load(sys.stdin)
    for one in given.get("items", [given]):
        if one["kind"] == "Service": one["spec"]["clusterIP"] = one["spec"].get("clusterIP", "10.96.0.7")
        keep(one)
        print(f"{one['kind'].lower()}/{one['metadata']['name']}")
elif "delete" in words:
    kinds = words[words.index("delete") + 1]
    for one in stored():
        if one["kind"].lower() + "s" in kinds.replace("jobs.batch", "jobs"):
            os.remove(f"{place}/store/{one['kind'].lower()}.{one['metadata']['name']}")
            print(f"{one['kind'].lower()}/{one['metadata']['name']}")
elif any("jsonpath" in word for word in words):
    if "nodes" in words: row_of_a_node(words[-1])
    elif "pods" in words: row_of_a_pod(words[-1])
elif "logs" in words: pass
elif "get" in words and "-f" in words:
    wanted = json.load(sys.stdin)
    wanted = [(one["kind"], one["metadata"]["name"]) for one in wanted.get("items", [wanted])]
    items([one for one in stored() if (one["kind"], one["metadata"]["name"]) in wanted])
elif "get" in words:
    kinds = words[words.index("get") + 1]
    if "kueue" in kinds and os.path.exists(place + "/no-kueue"):
        print('error: the server doesn\'t have a resource type "localqueues"', file=sys.stderr)
        sys.exit(1)
    if "workloads" in kinds and os.path.exists(place + "/fails-once"):
        os.remove(place + "/fails-once")
        print("error: the server is currently unable to handle the request", file=sys.stderr)
        sys.exit(1)
    found = []
    if "workloads" in kinds: found += list(workloads())
    if "localqueues" in kinds: found += [queue]
    if "jobs" in kinds: found += list(jobs())
    if "pods" in kinds: found += list(pods())
    if "services" in kinds: found += [one for one in stored() if one["kind"] == "Service"]
    items(found)
END
chmod +x bin/kubectl

run=(gpuadm --assets over train run night --image registry.lan/a:1)

# It waits, with its place, although another pod holds the only GPU; then it runs to its end.
echo 2 >left
exits 0 "${run[@]}" --queue -- a
complains "train/night is queued: 2nd of 2 in the queue gpuadm; needs 1 GPU, 0 are free"
complains "train/night succeeded"
[ "$(grep -c 'is queued' err)" = 1 ] || fail 'the same line is repeated'
rm store/*

# A place that cannot be read for a moment does not take it out of its queue.
echo 2 >left
touch fails-once
exits 0 "${run[@]}" --queue -- a
complains "currently unable to handle the request; repeated for 60s"
complains "train/night succeeded"
rm store/*

# --detach leaves it in its queue, suspended and labeled.
echo 99 >left
exits 0 "${run[@]}" --queue=gpuadm --detach -- a
says "train/night is in its queue; gpuadm train logs night -n default --follow"
jq -e '.spec.suspend == true and .metadata.labels["kueue.x-k8s.io/queue-name"] == "gpuadm"' store/job.night >/dev/null || fail "the Job is not suspended"
exits 0 gpuadm --assets over workload list
says "queued: 2nd of 2 in the queue gpuadm; needs 1 GPU, 0 are free"
rm store/*

# Ctrl-C takes it back.
echo 99 >left
"$GPUADM" "${run[@]:1}" --queue -- a >out 2>err </dev/null &
running=$!
for _ in $(seq 600); do ! grep -q 'is queued' err || break; sleep 0.1; done
kill -INT "$running"
status=0
wait "$running" || status=$?
[ "$status" = 130 ] || fail "the exit status is $status, and not 130"
[ ! -e store/job.night ] || fail "a job is left in the queue"

# The label of a manifest is the queue, if the cluster has queues.
cat >job.yaml <<'END'
apiVersion: batch/v1
kind: Job
metadata: { name: own, labels: { kueue.x-k8s.io/queue-name: gpuadm } }
spec: { template: { spec: { restartPolicy: Never, containers: [{ name: main, image: "registry.lan/a:1", command: [a], resources: { limits: { nvidia.com/gpu: 1 } } }] } } }
END
echo 1 >left
exits 0 gpuadm --assets over train run -f job.yaml
complains "train/own is queued: 2nd of 2"
rm store/*

# What cannot be queued creates nothing.
: >calls
exits 3 "${run[@]}" --queue=gpuadn -- a
complains "the namespace default has no queue gpuadn"
complains "it has: gpuadm"
exits 3 "${run[@]}" --queue --gpus 2 -- a
complains "more than the cluster has"
exits 2 "${run[@]}" --queue --all-reduce -- a
touch no-kueue
exits 3 "${run[@]}" --queue -- a
complains "the cluster has no queues: the add-on kueue is not enabled"
complains "--wait 12h"
lacks -F create calls || fail 'something was created'
# Without queues, a label is a label.
exits 3 gpuadm --assets over train run -f job.yaml
complains "not enough free GPUs"
