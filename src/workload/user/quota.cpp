#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/quantity.hpp"
#include "gpuadm/workload/gpus.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/user.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace workload {

namespace {

using base::Fault;

constexpr std::string_view gpu_resource = "nvidia.com/gpu", shared_resource = "nvidia.com/gpu.shared";
/// Quotas of devices by class: of claims, and of pods that name the class as a resource (from Kubernetes
/// 1.34).
constexpr std::string_view class_suffix = ".deviceclass.resource.k8s.io/devices",
                           implicit_prefix = "requests.deviceclass.resource.kubernetes.io/";
constexpr std::string_view gpu_class = "gpu.nvidia.com", mig_class = "mig.nvidia.com";
/// A Service of these kinds opens a port of the nodes, or takes an address from outside.
constexpr const char* exposing_services[] = {"services.nodeports", "services.loadbalancers"};

/// What the nodes have of one resource.
struct Offered {
  long long amount = 0;
  std::set<long long> shares;  ///< pods for each GPU, by node
};

using Offers = std::map<std::string, Offered, std::less<>>;

Offers offered_by(const std::vector<facts::Node>& nodes) {
  Offers all;
  for (const facts::Node& node : nodes) {
    const auto label = node.labels.find("nvidia.com/gpu.replicas");
    const long long shares =
        label == node.labels.end() ? 1 : std::max(1LL, base::to_int(label->second).value_or(1));
    for (const auto& [resource, amount] : node.capacity) {
      const long long count = base::to_int(amount).value_or(0);
      if (!is_gpu_resource(resource) || count <= 0) continue;
      all[resource].amount += count;
      all[resource].shares.insert(mig_profile_of(resource).empty() ? shares : 1);
    }
  }
  return all;
}

/// "requests.nvidia.com/gpu", "gpu.nvidia.com.deviceclass.resource.k8s.io/devices"
bool is_gpu_entry(std::string_view entry) {
  return entry.find("nvidia.com") != std::string_view::npos;
}

std::string mig_resource(const std::string& profile) {
  return "nvidia.com/mig-" + base::replace_all(profile, "+", ".");
}

/// The counts of a quota while it is made.
class Counting {
 public:
  Counting(const facts::ClusterFacts& cluster, const std::vector<std::string>& classes)
      : offered_(offered_by(*cluster.nodes)) {
    counts_[std::string(gpu_resource)] = 0;
    counts_[std::string(shared_resource)] = 0;
    for (const auto& [resource, unused] : offered_) counts_[resource] = 0;
    for (const std::string& name : classes) classes_[name] = 0;
    if (!cluster.slices) return;
    for (const facts::ResourceSlice& slice : *cluster.slices)
      for (const facts::Device& device : slice.devices)
        if (slice.driver == gpu_class) ++devices_[std::string(device.type == "mig" ? mig_class : gpu_class)];
  }

  Result<> add(const spec::GpuLimit& limit, std::vector<std::string>& notes) {
    switch (limit.request.form) {
      case GpuRequest::Form::none:
        break;
      case GpuRequest::Form::whole:
        add_whole(limit.count, notes);
        add_class(gpu_class, limit.count);
        break;
      case GpuRequest::Form::share:
        return add_shares(limit, notes);
      case GpuRequest::Form::mig:
        counts_[mig_resource(limit.request.profile)] += limit.count;
        add_class(mig_class, limit.count);
        break;
    }
    return {};
  }

  void finish(UserQuota& quota) const {
    for (const auto& [resource, count] : counts_) {
      quota.hard["requests." + resource] = std::to_string(count);
      const auto found = offered_.find(resource);
      const long long has = found == offered_.end() ? 0 : found->second.amount;
      if (count > has && !is_claimed(resource))
        quota.notes.push_back(fmt::format("the quota of {} {} is above the {} that the nodes have", count,
                                          base::printable(resource, 80), has));
    }
    for (const auto& [name, count] : classes_) {
      quota.hard[name + std::string(class_suffix)] = std::to_string(count);
      quota.hard[std::string(implicit_prefix) + name] = std::to_string(count);
      const auto found = devices_.find(name);
      const long long has = found == devices_.end() ? 0 : found->second;
      if (count > has)
        quota.notes.push_back(fmt::format("the quota of {} devices of {} is above the {} that the nodes have",
                                          count, base::printable(name, 80), has));
    }
    if (!classes_.empty() && !offered_.empty())
      quota.notes.push_back(
          "GPUs are offered by a device plugin and by claims: Kubernetes before 1.34 limits each on its own");
  }

 private:
  /// Whether GPUs are given by claims only.
  [[nodiscard]] bool is_claimed(const std::string& resource) const {
    return !classes_.empty() && offered_.empty() && mig_profile_of(resource).empty();
  }
  void add_class(std::string_view name, long long count) {
    if (const auto found = classes_.find(name); found != classes_.end()) found->second += count;
  }
  /// Where nodes have only shares, a GPU is as many of them as it is divided into; on nodes that differ, as
  /// few as on any.
  void add_whole(long long count, std::vector<std::string>& notes) {
    for (const std::string_view resource : {gpu_resource, shared_resource}) {
      const auto found = offered_.find(resource);
      if (found == offered_.end()) continue;
      const std::set<long long>& shares = found->second.shares;
      counts_[std::string(resource)] += count * *shares.begin();
      if (shares.size() > 1)
        notes.push_back(
            fmt::format("nodes share their GPUs differently under the name {}: the quota counts "
                        "the largest share as 1/{} of a GPU",
                        resource, *shares.begin()));
      return;
    }
    counts_[std::string(gpu_resource)] += count;
  }
  /// A share has the name of a whole GPU, which the user would get where no node divides its GPUs.
  Result<> add_shares(const spec::GpuLimit& limit, std::vector<std::string>& notes) {
    for (const auto& [resource, offer] : offered_) {
      if (!offer.shares.contains(limit.request.parts) || !mig_profile_of(resource).empty()) continue;
      counts_[resource] += limit.count;
      if (const long long fewest = *offer.shares.begin(); offer.shares.size() > 1)
        notes.push_back(
            fmt::format("nodes share their GPUs differently under the name {}: on some nodes, a share of "
                        "this quota is {}",
                        resource, fewest == 1 ? "a whole GPU" : fmt::format("1/{} of a GPU", fewest)));
      return {};
    }
    return base::fail(
        Fault::usage, fmt::format("no node divides its GPUs into {} shares", limit.request.parts),
        fmt::format("divide the GPUs of a node: gpuadm gpu share NODE {}", limit.request.parts));
  }

  Offers offered_;
  std::map<std::string, long long> counts_;
  std::map<std::string, long long, std::less<>> classes_, devices_;
};

}  // namespace

std::optional<std::vector<std::string>> gpu_classes_of(const facts::ClusterFacts& cluster) {
  std::vector<std::string> names;
  if (cluster.device_classes) {
    std::ranges::copy_if(*cluster.device_classes, std::back_inserter(names), [](const std::string& name) {
      return name.ends_with(".nvidia.com") && !name.starts_with("compute-domain");
    });
    return names;
  }
  // Device classes are in the API from v1alpha3 (Kubernetes 1.31).
  const auto has_classes = [](const std::string& version) {
    return version != "v1alpha1" && version != "v1alpha2";
  };
  if (!cluster.dra_versions || std::ranges::any_of(*cluster.dra_versions, has_classes)) return std::nullopt;
  return names;
}

Result<UserQuota> quota_of(const UserLimits& limits, const facts::ClusterFacts& cluster) {
  if (!cluster.nodes)
    return base::fail(Fault::remote, "the nodes of the cluster could not be read, and so what GPUs they have",
                      "gpuadm doctor --stage cluster");
  const auto classes = gpu_classes_of(cluster);
  if (!classes)
    return base::fail(Fault::remote,
                      "the device classes of the cluster could not be read, and so which GPUs are given by "
                      "claims: the quota would not limit them",
                      "gpuadm doctor --stage cluster");
  UserQuota quota;
  Counting counting(cluster, *classes);
  for (const spec::GpuLimit& limit : TRY(spec::parse_gpu_limits("--gpus", limits.gpus)))
    TRY(counting.add(limit, quota.notes));
  counting.finish(quota);
  for (const char* services : exposing_services) quota.hard[services] = "0";
  if (!limits.cpus.empty()) quota.hard["requests.cpu"] = limits.cpus;
  if (!limits.memory.empty()) {
    quota.hard["requests.memory"] = limits.memory;
    quota.hard["limits.memory"] = limits.memory;
  }
  if (!limits.storage.empty()) quota.hard["requests.storage"] = limits.storage;
  return quota;
}

Result<UserQuota> changed_quota(const std::map<std::string, std::string>& hard, UserLimits& limits,
                                const facts::ClusterFacts& cluster) {
  const auto keep = [&](std::string& limit, const char* entry) {
    if (const auto found = hard.find(entry); limit.empty() && found != hard.end()) limit = found->second;
  };
  keep(limits.cpus, "requests.cpu");
  keep(limits.memory, "requests.memory");
  keep(limits.storage, "requests.storage");
  UserQuota quota = TRY(quota_of(limits, cluster));
  const bool keeps_gpus = limits.gpus.empty();
  if (keeps_gpus) quota.notes.clear();
  for (const auto& [entry, amount] : hard)
    if (is_gpu_entry(entry) ? keeps_gpus : !is_limited_by_gpuadm(entry)) quota.hard[entry] = amount;
  return quota;
}

bool is_limited_by_gpuadm(std::string_view entry) {
  return is_gpu_entry(entry) || entry == "requests.cpu" || entry == "requests.memory" ||
         entry == "limits.memory" || entry == "requests.storage";
}

std::vector<std::string> exceeded_by(const std::map<std::string, std::string>& used, const UserQuota& quota) {
  std::vector<std::string> names;
  for (const auto& [entry, amount] : quota.hard) {
    const auto held = used.find(entry);
    if (held == used.end()) continue;
    const auto has = kube::parse_quantity(held->second), may = kube::parse_quantity(amount);
    if (has && may && *has > *may) names.push_back(fmt::format("{} {} of {}", entry, held->second, amount));
  }
  return names;
}

std::vector<std::string> unlimited_gpus(const std::map<std::string, std::string>& hard,
                                        const facts::ClusterFacts& cluster) {
  std::vector<std::string> names;
  if (cluster.nodes)
    for (const auto& [resource, offer] : offered_by(*cluster.nodes))
      if (!hard.contains("requests." + resource)) names.push_back(resource);
  for (const std::string& name : gpu_classes_of(cluster).value_or(std::vector<std::string>()))
    if (!hard.contains(name + std::string(class_suffix))) names.push_back(name);
  return names;
}

}  // namespace workload
