#include "checks/data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using base::Fault;
using base::Result;

constexpr std::array architectures = {"Tesla",  "Fermi",  "Kepler", "Maxwell", "Pascal",    "Volta",
                                      "Turing", "Ampere", "Ada",    "Hopper",  "Blackwell", "Rubin"};
constexpr int open_by_default = 560;  // the first branch whose installers prefer the open modules

/// Age by position in the list; branches that are not in it are newer than all others.
std::size_t age(const std::string& architecture) {
  return static_cast<std::size_t>(std::ranges::find(architectures, architecture) - architectures.begin());
}

/// The newest architecture of a branch: the last one in its row.
std::size_t newest_of(const Branch& branch) {
  if (branch.architectures.find("newer") != std::string::npos) return architectures.size();
  for (std::size_t i = architectures.size(); i-- > 0;)
    if (branch.architectures.find(architectures[i]) != std::string::npos) return i;
  return 0;
}

struct Bounds {
  const GpuModel* oldest = nullptr;       ///< the one with the lowest last branch
  const GpuModel* newest = nullptr;       ///< of the newest architecture
  const GpuModel* open_only = nullptr;    ///< one that requires the open modules
  const GpuModel* proprietary = nullptr;  ///< one that does not support them

  [[nodiscard]] bool fit(int branch, const Branch& is) const {
    return (!oldest || branch <= *oldest->last_branch) &&
           (!newest || age(newest->architecture) <= newest_of(is));
  }
};

Bounds bounds_of(const std::vector<facts::PciGpu>& gpus, const Data& data) {
  Bounds bounds;
  for (const facts::PciGpu& gpu : gpus) {
    const GpuModel* model = data.find_gpu(gpu.device_id, gpu.subsystem);
    if (!model) continue;  // newer than the data: no constraint
    if (model->last_branch && (!bounds.oldest || *model->last_branch < *bounds.oldest->last_branch))
      bounds.oldest = model;
    if (!bounds.newest || age(model->architecture) > age(bounds.newest->architecture)) bounds.newest = model;
    if (model->flavor == "open-only") bounds.open_only = model;
    if (model->flavor == "proprietary") bounds.proprietary = model;
  }
  return bounds;
}

Result<int> asked_branch(int asked, const Bounds& bounds, const Data& data) {
  const auto branch = data.branches.find(asked);
  if (branch == data.branches.end())
    return base::fail(Fault::blocked, fmt::format("driver branch {} is unknown", asked),
                      fmt::format("the newest is {}: gpu.driverBranch, or --driver install=BRANCH",
                                  data.branches.rbegin()->first));
  if (bounds.oldest && asked > *bounds.oldest->last_branch)
    return base::fail(
        Fault::blocked, fmt::format("driver branch {} does not support the {}", asked, bounds.oldest->name),
        fmt::format("its last branch is {0}: --driver install={0}", *bounds.oldest->last_branch));
  if (!bounds.fit(asked, branch->second))
    return base::fail(Fault::blocked,
                      fmt::format("driver branch {} does not support the {} yet", asked, bounds.newest->name),
                      "omit the branch: gpuadm selects the right one");
  return asked;
}

/// The maintained branch with the latest end, the newest of several; without one with a published end, the
/// newest maintained one.
Result<int> best_branch(const Bounds& bounds, const Data& data) {
  int best = 0;
  std::optional<base::Day> latest;
  for (const auto& [number, branch] : data.branches) {
    if (!branch.is_maintained(data.today) || !bounds.fit(number, branch)) continue;
    if (latest && (!branch.ends || *branch.ends < *latest)) continue;
    best = number;
    latest = branch.ends;
  }
  if (best != 0) return best;
  if (bounds.oldest)
    return base::fail(Fault::blocked,
                      fmt::format("no maintained driver branch supports the {}", bounds.oldest->name),
                      fmt::format("the last branch that did is {0}: --driver install={0}, at your own risk",
                                  *bounds.oldest->last_branch));
  return base::fail(Fault::blocked,
                    fmt::format("no known driver branch supports the {}", bounds.newest->name),
                    "install its driver by hand, and leave gpu.driver at `use`");
}

}  // namespace

Result<DriverChoice> choose_driver(const std::vector<facts::PciGpu>& gpus, int asked, const Data& data) {
  const Bounds bounds = bounds_of(gpus, data);
  if (bounds.open_only && bounds.proprietary)
    return base::fail(
        Fault::blocked,
        fmt::format(
            "the {} needs the open kernel modules, and the {} cannot use them: no driver supports both",
            bounds.open_only->name, bounds.proprietary->name),
        "remove one of the two from the machine");
  DriverChoice choice;
  choice.branch = TRY(asked != 0 ? asked_branch(asked, bounds, data) : best_branch(bounds, data));
  const bool open = bounds.open_only || (choice.branch >= open_by_default && !bounds.proprietary);
  choice.modules = open ? "open" : "proprietary";
  return choice;
}

}  // namespace checks
