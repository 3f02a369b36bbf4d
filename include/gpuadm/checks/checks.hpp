#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/report/finding.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Facts and intent in, findings out. Pure.
namespace checks {

/// When a check has something to say. A check may have several.
enum class Stage : unsigned { preflight = 1, node = 2, cluster = 4, security = 8 };

/// One row of the table, as others see it.
struct About {
  std::string_view id, title, why;
  unsigned stages;  ///< Stage bits
};
[[nodiscard]] std::vector<About> table();

/// What is known of a check beside its function: data/checks/<area>.yaml.
struct Article {
  std::vector<std::string> caused_by;  ///< checks that explain its failure, the nearest first
  std::string symptom;                 ///< what an operator sees who has not asked gpuadm
  std::string probe;                   ///< what is read on the host
  std::string fix;                     ///< what mends it
  std::string by_hand;                 ///< how to look without gpuadm
  std::vector<std::string> sources;    ///< addresses of pages that say that it is so
};

/// Static facts about hardware and software, read from the data assets once.
struct Data;
/// Reads data/ given its texts by path; Fault::parse names file and line.
[[nodiscard]] base::Result<std::shared_ptr<const Data>> read_data(
    const std::function<base::Result<std::string>(std::string_view path)>& asset);

/// The article of a check; nullptr where it has none.
[[nodiscard]] const Article* article(const Data& data, std::string_view id);

/// Runs every check of a stage: host by host in name order, checks in table order, then the checks across
/// hosts. Passes are included (Verdict::pass) so that a report can count them. A host that could not be
/// reached is left out. Rules that depend on the Kubernetes version take cluster.kubernetes.version, else
/// that of the kubeadm on the host, else (source: packages) the catalog's; who knows the version of a bundle
/// puts it into `cluster` first.
[[nodiscard]] std::vector<report::Finding> examine(const spec::Cluster& cluster, const facts::Census& census,
                                                   const Data& data, Stage stage);

/// Runs the checks of the stage `cluster`: what its control plane says, compared with the hosts that
/// answered.
[[nodiscard]] std::vector<report::Finding> examine_cluster(const spec::Cluster& cluster,
                                                           const facts::Census& census,
                                                           const facts::ClusterFacts& facts,
                                                           const Data& data);

/// Which driver a host is to get.
struct DriverChoice {
  int branch = 0;
  std::string modules;  ///< flavor of the kernel modules: "open" or "proprietary"
};
/// The newest branch in support that drives every GPU on the bus, or `asked` where that is not 0; open
/// modules where every GPU can have them. Fault::blocked says which GPU stands against it.
[[nodiscard]] base::Result<DriverChoice> choose_driver(const std::vector<facts::PciGpu>& gpus, int asked,
                                                       const Data& data);

/// Lints feature gates and kubelet flags of a cluster against a Kubernetes minor; used by examine, and by
/// `config lint`.
[[nodiscard]] std::vector<report::Finding> lint(const spec::Cluster& cluster, const base::Version& kubernetes,
                                                const Data& data);

/// The first section of the probe that selects steps and could not be read, with the reason: "units could not
/// be read: timed out". The check host.probe.complete fails for the same sections.
[[nodiscard]] std::optional<std::string> unread_for_plan(const facts::Facts& facts);

}  // namespace checks
