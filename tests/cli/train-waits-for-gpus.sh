#!/usr/bin/env bash
# `train run --wait`: GPUs that others hold are waited for, and nothing is created before they are free. kubectl is a double.
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
def name_of(one): return f"{one['kind'].lower()}.{one['metadata']['name']}"
def items(found): print(json.dumps({"kind": "List", "items": found}))
def attempt_of(job):
    return next(one["value"] for one in job["spec"]["template"]["spec"]["containers"][0]["env"] if one["name"] == "GPUADM_ATTEMPT")
def ended():
    for job in stored():
        if job["kind"] != "Job": continue
        labels = job["spec"]["template"]["metadata"]["labels"]
        job["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
        pod = {"kind": "Pod", "metadata": {"name": f"{job['metadata']['name']}-{attempt_of(job)}", "namespace": "default", "labels": labels},
               "spec": {"nodeName": "gpu1", "containers": [{"name": "pytorch"}]},
               "status": {"phase": "Succeeded", "containerStatuses": [
                   {"name": "pytorch", "state": {"terminated": {"exitCode": 0}}}]}}
        yield job, pod
def row_of_a_pod(template):
    # Another pod holds the GPU until it was seen as often as the file says.
    left = int(open(place + "/held").read())
    if left == 0: return
    with open(place + "/held", "w") as file: print(left - 1, file=file)
    separator = template.split('"')[1]
    columns = ["default", "ben-0", "StatefulSet", "gpu1", "Running", "", '{"nvidia.com/gpu":"1"}'] + [""] * 12
    print("".join(separator + column for column in columns))
def row_of_a_node(template):
    separator = template.split('"')[1]
    gpus = '{"cpu":"8","memory":"16Gi","pods":"110","nvidia.com/gpu":"1"}'
    columns = ["gpu1", "{}", "", "", "", "Ready=True:KubeletReady ", gpus, gpus, "v1.36.2"] + [""] * 7
    print("".join(separator + column for column in columns))
if "create" in words:
    given = json.load(sys.stdin)
    for one in given.get("items", [given]):
        if one["kind"] == "Service": one["spec"]["clusterIP"] = one["spec"].get("clusterIP", "10.96.0.7")
        json.dump(one, open(f"{place}/store/{name_of(one)}", "w"))
        print(f"{one['kind'].lower()}/{one['metadata']['name']}")
elif "delete" in words:
    kinds = words[words.index("delete") + 1]
    for one in stored():
        if one["kind"] == "Job" and "jobs" in kinds: os.remove(f"{place}/store/{name_of(one)}"); print(f"job.batch/{one['metadata']['name']}")
        elif "secrets" in kinds and one["kind"] in ("Secret", "ConfigMap", "Service"): os.remove(f"{place}/store/{name_of(one)}"); print(f"{one['kind'].lower()}/{one['metadata']['name']}")
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
    found = []
    if "jobs" in kinds: found += [job for job, pod in ended()]
    if "pods" in kinds: found += [pod for job, pod in ended()]
    if "services" in kinds: found += [one for one in stored() if one["kind"] == "Service"]
    if "persistentvolumeclaims" in kinds: found += [one for one in stored() if one["kind"] == "PersistentVolumeClaim"]
    items(found)
END
chmod +x bin/kubectl


run=(gpuadm --assets over train run night --image registry.lan/a:1)

echo 9 >held
exits 3 "${run[@]}" -- a
complains "not enough free GPUs"
complains "default/ben-0"
lacks -F create calls || fail 'something was created'

# It is seen in two views, and is free in the third.
echo 2 >held
exits 0 "${run[@]}" --wait 2m -- a
complains "train/night waits for GPUs (at most 2m 0s)"
complains "default/ben-0"
complains "train/night succeeded"
[ "$(grep -c 'waits for GPUs' err)" = 1 ] || fail 'the same line is repeated'
rm store/*

# Not longer than the limit.
: >calls
echo 9 >held
exits 3 "${run[@]}" --wait 5 -- a
complains "not enough free GPUs"
lacks -F create calls || fail 'something was created'

# More than the cluster has is not waited for, and neither is a job that something else blocks.
begin=$SECONDS
exits 3 "${run[@]}" --gpus 2 --wait 10m -- a
complains "more than the cluster has"
exits 3 "${run[@]}" --cpus 64 --wait 10m -- a
complains "train.resources"
[ $((SECONDS - begin)) -lt 500 ] || fail 'it waited'
exits 2 "${run[@]}" --wait soon -- a
complains "--wait: invalid duration: 'soon'"
exits 2 "${run[@]}" --wait 0 -- a
