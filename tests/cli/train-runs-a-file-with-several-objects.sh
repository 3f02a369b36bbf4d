#!/usr/bin/env bash
# `train run -f` of a file with a job and the objects that it needs: all are created, with the labels by which `train stop` deletes them, no
# secret is an argument or in the output, and after a failure all ranks start again as often as the manifest says. kubectl is a double.
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
    # Rank 1 fails in the first attempt.
    for job in stored():
        if job["kind"] != "Job": continue
        labels = job["spec"]["template"]["metadata"]["labels"]
        fails = attempt_of(job) == "0" and labels["gpuadm.io/rank"] == "1"
        job["status"] = {"conditions": [{"type": "Failed" if fails else "Complete", "status": "True"}]}
        pod = {"kind": "Pod", "metadata": {"name": f"{job['metadata']['name']}-{attempt_of(job)}", "namespace": "default", "labels": labels},
               "spec": {"nodeName": "gpu1", "containers": [{"name": "pytorch"}]},
               "status": {"phase": "Failed" if fails else "Succeeded", "containerStatuses": [
                   {"name": "pytorch", "state": {"terminated": {"exitCode": 137 if fails else 0}}}]}}
        yield job, pod
def row_of_a_node(template):
    separator = template.split('"')[1]
    columns = ["gpu1", "{}", "", "", "", "Ready=True:KubeletReady ", "{}", '{"cpu":"8","memory":"16Gi","pods":"110"}', "v1.36.2"] + [""] * 7
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

cat >job.yaml <<'END'
apiVersion: v1
kind: Secret
metadata: { name: token }
stringData: { token: s3cr3t-of-the-file }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: settings }
data: { lr: "0.1" }
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: results }
spec: { accessModes: [ReadWriteMany], resources: { requests: { storage: 1Gi } } }
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: { name: speech }
spec:
  elasticPolicy: { maxRestarts: 1 }
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: OnFailure
      template:
        spec:
          containers: [{ name: pytorch, image: "registry.lan/a:1", command: [a], envFrom: [{ secretRef: { name: token } }], volumeMounts: [{ name: results, mountPath: /results }] }]
          volumes: [{ name: results, persistentVolumeClaim: { claimName: results } }]
END
exits 0 gpuadm --assets over train run -f job.yaml --wait 20
complains "the job runs with 2 ranks, and their number does not change"
complains "attempt 2 of 2"
complains "train/speech: all 2 ranks succeeded"
for name in secret.token configmap.settings persistentvolumeclaim.results; do
  [ "$(jq -r '.metadata.labels."gpuadm.io/name"' "store/$name")" = speech ] || fail "$name is not that of the job"
done
[ "$(jq -r '.stringData.token' store/secret.token)" = s3cr3t-of-the-file ] || fail 'the Secret has another value'
! grep -q s3cr3t calls out err || fail 'the secret is shown'
! grep -rq s3cr3t "$HOME/.local" 2>/dev/null || fail 'the secret is in a log'

# The claim is that of the earlier job; a ConfigMap that exists is not replaced.
rm store/job.* store/service.* store/secret.*
exits 3 gpuadm --assets over train run -f job.yaml --wait 20
complains "the ConfigMap default/settings of the manifest exists"
rm -f store/job.* store/service.* store/secret.* store/configmap.*
exits 0 gpuadm --assets over train run -f job.yaml --wait 20
complains "using the claim results of the earlier train/speech in default"

printf 'kind: PyTorchJob\nmetadata: { name: "{{ .Release.Name }}" }\n' >chart.yaml
exits 2 gpuadm train run -f chart.yaml -o yaml --offline
complains "chart.yaml:2:19: a template of Helm, and not a manifest: render it first"
