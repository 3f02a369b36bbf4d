#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/addon_hub.hpp"
#include "gpuadm/workload/notebook.hpp"
#include "gpuadm/workload/objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace workload {

namespace {

using base::Result;
using base::Tree;
using Form = GpuRequest::Form;

constexpr int whole_counts[] = {1, 2, 4, 8, 16};
constexpr int memory_sizes[] = {4, 8, 16, 32, 64, 128, 256};  ///< GiB
constexpr double gibibyte = 0x1p30;
/// Of a node's memory, so that system pods have some.
constexpr double usable_part = 0.75;

/// "0", and what nodes offer: whole GPUs, shares, MIG instances.
std::vector<std::string> gpu_choices(const GpuSupply& supply) {
  long long most = 0;
  std::set<int> shares;
  std::set<std::string> profiles;
  for (const GpuOffer& offer : supply.offers) {
    if (spec::is_mig_profile(offer.profile))
      profiles.insert(offer.profile);
    else if (!offer.profile.empty())
      continue;  // of claims: what profiles there are is not known
    else if (offer.shares > 1)
      shares.insert(offer.shares);
    else
      most = std::max(most, offer.all);
  }
  std::vector<std::string> choices = {"0"};
  for (const int count : whole_counts)
    if (count <= most) choices.push_back(std::to_string(count));
  for (const int share : shares) choices.push_back(fmt::format("1/{}", share));
  choices.insert(choices.end(), profiles.begin(), profiles.end());
  return choices;
}

std::string as_name(const std::string& choice) {
  return "gpus-" +
         base::replace_all(base::replace_all(base::replace_all(choice, "/", "-of-"), ".", "-"), "+", "-");
}

/// What a choice adds to a pod and to its container.
Result<Tree> gpu_row(const std::string& choice, const GpuSupply& supply, const std::string& ns,
                     std::vector<Tree>& objects) {
  const GpuRequest request = TRY(parse_gpus("GPUs", choice));
  Tree pod = Tree::map_of({{"containers", Tree(Tree::List{Tree::map()})}});
  if (request.any()) {
    const GpuParts parts =
        parts_of(supply, request, as_name(choice), ns, labels_of(addon_kind, "jupyterhub"));
    if (parts.claim_template) objects.push_back(*parts.claim_template);
    add_gpus(pod, parts);
  }
  const Tree* found = std::as_const(pod).at({"containers"})->items().front().find("resources");
  Tree resources = found ? *found : Tree::map();
  pod.erase("containers");
  const std::string label = describe(request);
  return Tree::map_of({{"name", choice},
                       {"label", label},
                       {"cuda", request.any()},
                       {"pod", pod.is_map() ? pod : Tree::map()},
                       {"resources", std::move(resources)}});
}

Result<Tree> image_rows(const Tree& catalog, const facts::ClusterFacts& cluster, const GpuSupply& supply) {
  const Tree* frameworks = catalog.find("notebooks");
  Tree rows = Tree::list();
  if (!frameworks) return rows;
  const auto cuda = cuda_of(cluster, supply);
  for (const auto& [framework, entries] : frameworks->entries()) {
    const std::string plain = TRY(image_of(catalog, framework, {}, std::nullopt));
    // Drivers that are too old for all of them leave the image without CUDA.
    const auto with_cuda = image_of(catalog, framework, {Form::whole, 1, 1, {}}, cuda);
    rows.push(Tree::map_of({{"name", framework},
                            {"label", framework},
                            {"plain", plain},
                            {"cuda", with_cuda ? *with_cuda : plain}}));
  }
  return rows;
}

Tree memory_rows(const facts::ClusterFacts& cluster) {
  double most = 0;
  if (cluster.nodes)
    for (const facts::Node& node : *cluster.nodes)
      if (const auto memory = node.allocatable.find("memory"); memory != node.allocatable.end())
        if (const auto bytes = bytes_of("memory", memory->second))
          most = std::max(most, static_cast<double>(*bytes) * usable_part);
  Tree rows = Tree::list();
  for (const int size : memory_sizes)
    if (size * gibibyte <= most)
      rows.push(Tree::map_of({{"name", fmt::format("{}Gi", size)}, {"label", fmt::format("{} GiB", size)}}));
  if (rows.items().empty()) rows.push(Tree::map_of({{"name", "1Gi"}, {"label", "1 GiB"}}));
  return rows;
}

}  // namespace

Result<HubChoices> hub_choices(const Tree& catalog, const facts::ClusterFacts& cluster,
                               const GpuSupply& supply, const std::string& ns) {
  Tree images = TRY(image_rows(catalog, cluster, supply));
  HubChoices choices{Tree::list(), std::move(images), memory_rows(cluster), {}};
  for (const std::string& choice : gpu_choices(supply))
    choices.gpus.push(TRY(gpu_row(choice, supply, ns, choices.objects)));
  return choices;
}

std::string proof_choice(const GpuSupply& supply) {
  for (const std::string& choice : gpu_choices(supply)) {
    const auto request = parse_gpus("GPUs", choice);
    if (request && request->any() && check_fit(supply, *request, 1, Placement::anywhere)) return choice;
  }
  return "0";
}

}  // namespace workload
