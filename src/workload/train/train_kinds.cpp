#include "gpuadm/base/text.hpp"

#include "workload/train/train_readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace workload {

namespace {

using base::Fault;
using base::Tree;

/// A kind that gpuadm does not run, and what to do instead.
struct OtherKind {
  std::string_view kind, group, instead;
};

constexpr std::string_view as_pytorch =
    "write it as a PyTorchJob, whose ranks get MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE; or use its "
    "operator";
constexpr std::string_view as_indexed =
    "write it as a Job (batch/v1) with completionMode: Indexed, or as a PyTorchJob or MPIJob; or use its "
    "operator";
constexpr std::string_view as_ray =
    "use the operator KubeRay; a program without Ray: gpuadm train run NAME --nodes 2 --image IMAGE -- "
    "COMMAND";
constexpr std::string_view as_server = "it serves: gpuadm serve create NAME --model MODEL";

constexpr std::string_view as_ending =
    "its pods do not end: write it as a Job (batch/v1), or serve a model: gpuadm serve create NAME --model "
    "MODEL";

constexpr std::array other_kinds = std::to_array<OtherKind>({
    {"RayJob", "ray.io/", as_ray},
    {"RayCluster", "ray.io/", as_ray},
    {"RayService", "ray.io/", as_server},
    {"Job", "batch.volcano.sh/", as_indexed},
    {"XGBoostJob", "kubeflow.org/", as_pytorch},
    {"PaddleJob", "kubeflow.org/", as_pytorch},
    {"MXJob", "kubeflow.org/", as_pytorch},
    {"TrainJob", "kubeflow.org/",
     "this version was not released: write apiVersion: trainer.kubeflow.org/v1alpha1, which has the same "
     "fields"},
    {"LeaderWorkerSet", "leaderworkerset.x-k8s.io/", as_server},
    {"InferenceService", "serving.kserve.io/", as_server},
    {"Deployment", "apps/", as_ending},
    {"StatefulSet", "apps/", as_ending},
    {"Notebook", "kubeflow.org/", "gpuadm notebook create NAME"},
    {"Pod", "v1", "put its metadata and spec into spec.template of a Job (batch/v1)"},
    {"CronJob", "batch/",
     "put spec.jobTemplate.spec into a Job (batch/v1), and start it with cron: gpuadm train run -f job.yaml "
     "--detach"},
    {"Workflow", "argoproj.io/", as_indexed},
    {"SparkApplication", "sparkoperator.k8s.io/", "use the operator of Spark"},
    {"Kustomization", "", "kubectl kustomize DIR >job.yaml"},
    {"HyperPodPyTorchJob", "sagemaker.amazonaws.com/", as_pytorch},
    {"AppWrapper", "workload.codeflare.dev/", "give gpuadm the job alone: spec.components[].template"},
    {"JobSet", "batch.x-k8s.io/",
     "this version was replaced: write apiVersion: jobset.x-k8s.io/v1alpha2, and spec.replicatedJobs"},
});

const OtherKind* other_kind_of(const Tree& document) {
  const std::string kind = text_of(document, "kind"), version = text_of(document, "apiVersion");
  const auto found = std::ranges::find_if(
      other_kinds, [&](const OtherKind& one) { return one.kind == kind && version.starts_with(one.group); });
  return found == other_kinds.end() ? nullptr : &*found;
}

}  // namespace

std::unexpected<base::Error> no_train_manifest(const std::vector<Tree>& documents, std::string_view source) {
  const auto known = std::ranges::find_if(documents, other_kind_of);
  const Tree none, &shown = known != documents.end() ? *known : documents.empty() ? none : documents.front();
  const std::string kind = base::printable(text_of(shown, "kind"), 60),
                    version = base::printable(text_of(shown, "apiVersion"), 60);
  if (const OtherKind* other = other_kind_of(shown))
    return base::fail(
        Fault::spec,
        fmt::format("{}:{}: gpuadm does not run the kind {} ({})", source, shown.mark.line, kind, version),
        std::string(other->instead));
  return base::fail(
      Fault::spec,
      fmt::format("{}: not a training job: kind {}, apiVersion {}", source, kind.empty() ? "(none)" : kind,
                  version.empty() ? "(none)" : version),
      "PyTorchJob, TFJob, MPIJob, JAXJob (kubeflow.org), TrainJob (trainer.kubeflow.org), JobSet, "
      "Job (batch)");
}

}  // namespace workload
