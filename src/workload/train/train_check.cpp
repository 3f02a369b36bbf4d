#include "gpuadm/workload/train_check.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/workload/gpus.hpp"

#include "workload/train/train_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

namespace workload {

namespace {

using base::Tree;
using report::Finding;
using report::Severity;
using report::Verdict;

/// A kubelet renews its lease every 10 s, with its own clock.
constexpr double renewal = 10, tolerated_skew = 2;

constexpr TrainCheckRow rows[] = {
    {"train.name", "the name of the job is not used", "jobs are found by their name"},
    {"train.nodes", "enough nodes accept pods", "each rank runs on a node of its own"},
    {"train.gpus-free", "enough GPUs are free", "a job runs only if all of its ranks do"},
    {"train.image", "the name of the image is valid", "the kubelet refuses it otherwise"},
    {"train.image-present", "the image is on the nodes, or may be pulled", "ranks do not start otherwise"},
    {"train.image-pull", "the registry has the image", "ranks do not start otherwise"},
    {"train.image-architecture", "the image is for the CPUs of the nodes",
     "its programs do not start otherwise"},
    {"train.image-cuda", "the drivers support the image's CUDA", "CUDA programs fail otherwise"},
    {"train.image-mpi", "the image has what --mpi needs", "ranks do not reach each other otherwise"},
    {"train.resources", "a node has the CPUs and the memory of a rank", "it stays Pending otherwise"},
    {"train.shm", "/dev/shm is smaller than the memory of a rank", "its files count as memory"},
    {"train.volume", "the claims exist, and all ranks can mount them", "ranks do not start otherwise"},
    {"train.nvlink", "ranks of one node are in one pod", "NCCL uses the network between pods"},
    {"train.rdma", "ranks request the RDMA devices of nodes", "NCCL uses TCP otherwise"},
    {"train.clock-skew", "the clocks of the nodes agree", "certificates and logs depend on them"},
    {"train.limits", "the ranks may use enough memory and files", "data loaders and RDMA fail otherwise"},
    {"train.mtu", "the pods of the ranks have one MTU", "large packets are lost otherwise"},
    {"train.nccl", "the ranks have one version of NCCL", "they do not understand each other otherwise"},
    {"train.all-reduce", "the ranks meet and exchange data",
     "training between ranks waits or fails otherwise"},
};

/// GPUs of a rank, and the number of ranks with that request.
std::vector<std::pair<GpuRequest, int>> requests_of(const TrainJob& job) {
  std::vector<std::pair<GpuRequest, int>> requests;
  for (const Role& role : job.roles) {
    if (!role.gpus.any()) continue;
    const auto same = std::ranges::find_if(
        requests, [&](const auto& one) { return describe(one.first) == describe(role.gpus); });
    if (same == requests.end())
      requests.emplace_back(role.gpus, role.replicas);
    else
      same->second += role.replicas;
  }
  return requests;
}

class Checks {
 public:
  explicit Checks(const TrainCheckInputs& inputs) : in_(inputs) {}

  std::vector<Finding> all() {
    name();
    nodes();
    gpus();
    image();
    resources();
    shm();
    volumes();
    nvlink();
    rdma();
    clocks();
    return std::move(findings_);
  }

 private:
  void add(std::string_view id, Verdict verdict, Severity severity, const std::string& message,
           const std::string& evidence = "", const std::string& remedy = "", const std::string& host = "") {
    Finding finding;
    finding.id = "train." + std::string(id);
    finding.severity = severity;
    finding.verdict = verdict;
    finding.host = base::printable(host, 100);
    finding.message = message;
    finding.evidence = base::printable(evidence, 600);
    finding.remedy = remedy;
    findings_.push_back(std::move(finding));
  }
  void pass(std::string_view id, const std::string& message) {
    add(id, Verdict::pass, Severity::blocker, message);
  }
  void unknown(std::string_view id, Severity severity, const std::string& what) {
    add(id, Verdict::unknown, severity, what + " could not be read");
  }

  void name() {
    if (!in_.existing) return unknown("name", Severity::blocker, "training jobs");
    for (const TrainState& state : *in_.existing)
      if (state.name == in_.job.name && state.ns == in_.job.ns)
        return add("name", Verdict::fail, Severity::blocker,
                   fmt::format("a training job {} exists ({})", state.name, name_of(state.phase)),
                   state.created.empty() ? "" : "created " + state.created,
                   fmt::format("gpuadm train stop {} -n {}, or use another name", state.name, state.ns));
    pass("name", fmt::format("the name {} is not used", in_.job.name));
  }

  [[nodiscard]] std::vector<const facts::Node*> usable() const { return nodes_for_pods(in_.cluster); }

  void nodes() {
    const auto found = usable().size();
    const auto needed =
        static_cast<std::size_t>(in_.job.placement == Placement::one_per_node ? in_.job.ranks() : 1);
    if (found >= needed) return pass("nodes", fmt::format("{} nodes accept pods, {} needed", found, needed));
    std::vector<std::string> reasons;
    for (const facts::Node& node : *in_.cluster.nodes)
      if (const std::string why = why_no_pods(node); !why.empty())
        reasons.push_back(fmt::format("{}: {}", node.name, why));
    add("nodes", Verdict::fail, Severity::blocker,
        fmt::format("{} nodes needed, {} of {} accept pods", needed, found, in_.cluster.nodes->size()),
        base::join(reasons, "; "),
        found > 0 ? "gpuadm status, or run several ranks on a node: --pack" : "gpuadm status");
  }

  void gpus() {
    for (const auto& [request, pods] : requests_of(in_.job)) {
      const auto fit = check_fit(in_.supply, request, pods, in_.job.placement);
      if (fit && !in_.supply.pods_of.empty())
        add("gpus-free", Verdict::unknown, Severity::note,
            fmt::format("whether {} for each of {} ranks are free is not known", describe(request), pods),
            "pods of other namespaces cannot be read with this kubeconfig", "");
      else if (fit)
        pass("gpus-free", fmt::format("{} for each of {} ranks", describe(request), pods));
      else
        add("gpus-free", Verdict::fail, Severity::blocker, "not enough free GPUs", fit.error().what,
            fit.error().hint);
    }
  }

  void image() {
    if (in_.image_problem.empty()) return pass("image", "the name of the image is valid");
    add("image", Verdict::fail, Severity::blocker, "the name of the image is invalid", in_.image_problem,
        "--image REGISTRY/NAME:TAG");
  }

  /// Calls with each container of the job.
  template <class Call>
  void each_container(Call call) {
    for (const Role& role : in_.job.roles)
      if (const Tree* containers = role.pod.find("containers"))
        for (const Tree& container : containers->items()) call(role, container);
  }

  /// Fails if no node has as much as each pod requests, whether it is in use or not.
  void fits(const char* resource, const std::string& requested, double amount,
            const std::function<double(const std::string&)>& parse) {
    double most = 0;
    std::string largest;
    for (const facts::Node* node : usable())
      if (const auto place = node->allocatable.find(resource); place != node->allocatable.end())
        if (const double has = parse(place->second); has > most) {
          most = has;
          largest = fmt::format("{} has {}", node->name, place->second);
        }
    if (largest.empty()) return unknown("resources", Severity::warning, "allocatable resources of nodes");
    if (amount <= most) return pass("resources", fmt::format("a node has {} {}", requested, resource));
    add("resources", Verdict::fail, Severity::blocker,
        fmt::format("no node has {} {}", base::printable(requested, 40), resource), largest,
        fmt::format("request less with --{}", resource == std::string("cpu") ? "cpus" : "memory"));
  }

  void resources() {
    each_container([&](const Role&, const Tree& container) {
      for (const char* resource : {"cpu", "memory"}) {
        const bool cpu = resource == std::string_view("cpu");
        const auto parse = [cpu](const std::string& text) {
          const auto value = cpu ? millicpus_of("", text) : bytes_of("", text);
          return value ? static_cast<double>(*value) : 0.0;
        };
        std::string requested = text_at(container, {"resources", "requests", resource});
        if (requested.empty()) requested = text_at(container, {"resources", "limits", resource});
        if (!requested.empty()) fits(resource, requested, parse(requested), parse);
      }
    });
  }

  /// The limit of the memory of a container includes /dev/shm.
  void shm() {
    for (const Role& role : in_.job.roles) {
      const Tree* volumes = role.pod.find("volumes");
      if (!volumes || !role.pod.find("containers")) continue;
      const std::string limit =
          text_at(role.pod.find("containers")->items().front(), {"resources", "limits", "memory"});
      for (const Tree& volume : volumes->items()) {
        const std::string size = text_at(volume, {"emptyDir", "sizeLimit"});
        if (text_at(volume, {"emptyDir", "medium"}) != "Memory" || size.empty() || limit.empty()) continue;
        const auto shm = bytes_of("--shm", size), memory = bytes_of("--memory", limit);
        if (shm && memory && *shm >= *memory)
          return add("shm", Verdict::fail, Severity::warning, "/dev/shm is as large as the memory of a rank",
                     fmt::format("--shm {}, --memory {}: shared memory counts as memory", size, limit),
                     "a larger --memory, or a smaller --shm");
      }
    }
    pass("shm", "/dev/shm is in memory, not limited to 64 MiB");
  }

  void volumes() {
    std::set<std::string> needed;
    for (const Role& role : in_.job.roles)
      if (const Tree* volumes = role.pod.find("volumes"))
        for (const Tree& volume : volumes->items())
          if (const std::string claim = text_at(volume, {"persistentVolumeClaim", "claimName"});
              !claim.empty())
            needed.insert(claim);
    if (needed.empty()) return;
    if (!in_.claims) return unknown("volume", Severity::blocker, "claims of the namespace " + in_.job.ns);
    for (const std::string& claim : needed) volume(claim);
  }

  void volume(const std::string& claim) {
    std::string names;
    for (const Tree& one : *in_.claims) {
      const std::string name = text_at(one, {"metadata", "name"});
      names += (names.empty() ? "" : ", ") + name;
      if (name != claim) continue;
      const Tree* modes = one.at({"spec", "accessModes"});
      const bool shared = !modes || std::ranges::any_of(modes->items(), [](const Tree& mode) {
        return mode.text() == "ReadWriteMany" || mode.text() == "ReadOnlyMany";
      });
      if (!shared && in_.job.ranks() > 1 && in_.job.placement == Placement::one_per_node)
        return add("volume", Verdict::fail, Severity::blocker,
                   fmt::format("the claim {} is for one node only", base::printable(claim, 80)),
                   "access modes without ReadWriteMany", "gpuadm storage claim on a shared storage");
      if (const std::string phase = text_at(one, {"status", "phase"}); phase == "Lost")
        return add("volume", Verdict::fail, Severity::blocker,
                   fmt::format("the volume of the claim {} does not exist", base::printable(claim, 80)),
                   "phase Lost", "gpuadm storage list");
      const bool is_new = text_at(one, {"status", "phase"}).empty();
      return pass("volume", fmt::format("the claim {} {}", base::printable(claim, 80),
                                        is_new ? "is created with the job" : "exists"));
    }
    add("volume", Verdict::fail, Severity::blocker,
        fmt::format("there is no claim {} in the namespace {}", base::printable(claim, 80), in_.job.ns),
        names.empty() ? "the namespace has no claims" : "claims: " + names,
        fmt::format("gpuadm storage claim {} --size 10Gi --on STORAGE -n {}", base::printable(claim, 80),
                    in_.job.ns));
  }

  /// A pod sees no GPU of another one, so NCCL connects them over the network, also on one node
  /// (docs/gpu-proof.md, two H200).
  void nvlink() {
    if (in_.job.placement == Placement::one_per_node) return;
    int ranks = 0;
    for (const auto& [request, pods] : requests_of(in_.job))
      if (request.form == GpuRequest::Form::whole) ranks += pods;
    const auto nodes = usable().size();
    if (ranks < 2 || std::cmp_less_equal(ranks, nodes)) return;
    add("nvlink", Verdict::fail, Severity::note,
        fmt::format("{} ranks with GPUs share {}: NCCL uses the network between their pods", ranks,
                    nodes == 1 ? "a node" : fmt::format("{} nodes", nodes)),
        fmt::format("{} ranks, {} node{} for them", ranks, nodes, nodes == 1 ? "" : "s"),
        "one rank for each node, with all GPUs that it uses there: --nodes and --gpus");
  }

  void rdma() {
    if (in_.job.ranks() == 1) return;
    std::string resource, node_name;
    for (const facts::Node* node : usable())
      for (const auto& [name, count] : node->allocatable)
        if (name.starts_with("rdma/") && base::to_int(count).value_or(0) > 0) {
          resource = name;
          node_name = node->name;
        }
    if (resource.empty()) return;
    bool requested = false;
    each_container([&](const Role&, const Tree& container) {
      if (const Tree* limits = container.at({"resources", "limits"}))
        for (const auto& [name, count] : limits->entries())
          requested = requested || name.starts_with("rdma/");
    });
    if (requested) return pass("rdma", "RDMA devices are requested");
    add("rdma", Verdict::fail, Severity::warning, "RDMA devices are not requested, so NCCL uses TCP",
        fmt::format("{} offers {}", node_name, resource), fmt::format("--resource {}=1", resource));
  }

  void clocks() {
    if (in_.job.ranks() == 1) return;
    if (!in_.leases || !in_.cluster.clock) return unknown("clock-skew", Severity::warning, "leases of nodes");
    bool some = false;
    for (const Tree& lease : *in_.leases) {
      const std::string node = text_at(lease, {"metadata", "name"});
      const auto renewed = base::parse_time(text_at(lease, {"spec", "renewTime"}));
      const bool used = std::ranges::any_of(usable(), [&](const auto* one) { return one->name == node; });
      if (!used || !renewed) continue;
      some = true;
      const double age = *in_.cluster.clock - *renewed;
      if (age < -(tolerated_skew + in_.read_seconds))
        add("clock-skew", Verdict::fail, Severity::warning, "the clock is ahead of the control plane",
            fmt::format("its lease was renewed {:.0f}s in the future", -age),
            "gpuadm doctor --only host.time.skew", node);
      else if (age > 2 * renewal + tolerated_skew)
        add("clock-skew", Verdict::fail, Severity::warning,
            "the clock is behind the control plane, or the kubelet does not report",
            fmt::format("its lease was renewed {:.0f}s ago, and should be every {:.0f}s", age, renewal),
            "gpuadm doctor --only host.time.skew", node);
      else
        pass("clock-skew", "the lease of the node is current");
    }
    if (!some) unknown("clock-skew", Severity::warning, "leases of nodes");
  }

  const TrainCheckInputs& in_;
  std::vector<Finding> findings_;
};

}  // namespace

std::span<const TrainCheckRow> train_checks() {
  return rows;
}

std::vector<const facts::Node*> nodes_for_pods(const facts::ClusterFacts& cluster) {
  std::vector<const facts::Node*> nodes;
  if (!cluster.nodes) return nodes;
  for (const facts::Node& node : *cluster.nodes)
    if (why_no_pods(node).empty()) nodes.push_back(&node);
  return nodes;
}

std::string held_gpus(const TrainJob& job, const GpuSupply& supply) {
  GpuSupply whole = supply;
  for (GpuOffer& offer : whole.offers) offer.free = offer.all;
  std::string held;
  for (const auto& [request, pods] : requests_of(job)) {
    if (!check_fit(whole, request, pods, job.placement)) return "";
    if (const auto fit = check_fit(supply, request, pods, job.placement); !fit) held = fit.error().what;
  }
  return held;
}

std::vector<Finding> examine_train(const TrainCheckInputs& inputs) {
  return Checks(inputs).all();
}

}  // namespace workload
