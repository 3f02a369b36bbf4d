#pragma once

#include "gpuadm/base/time.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/report/finding.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/spec/decisions.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Facts and cluster file in, findings out. Pure.
namespace checks {

/// When a check applies. A check may have several.
enum class Stage : unsigned { preflight = 1, node = 2, cluster = 4, security = 8 };

/// One row of the table of checks.
struct About {
  std::string_view id, title, why;
  unsigned stages;  ///< Stage bits
};
[[nodiscard]] std::vector<About> table();

/// Texts of a check: data/checks/<area>.yaml.
struct Article {
  std::vector<std::string> caused_by;  ///< checks that explain its failure, the nearest first
  std::string symptom;                 ///< what the operator observes without gpuadm
  std::string probe;                   ///< what is read on the host
  std::string fix;                     ///< how to fix it
  std::string by_hand;                 ///< how to check manually
  std::vector<std::string> sources;    ///< URLs of sources
};

/// Static data about hardware and software, read once from the data assets.
struct Data;
/// Parses data/ from its texts by path; Fault::parse names file and line. `today`: the day on which ends of
/// support are evaluated.
[[nodiscard]] base::Result<std::shared_ptr<const Data>> read_data(
    const std::function<base::Result<std::string>(std::string_view path)>& asset,
    base::Day today = base::today());

/// How old gpuadm's data are.
struct DataAge {
  base::Day looked;  ///< the day on which they were last compared with their sources: `date` of the catalog
  int days = 0;
  std::string note;  ///< if a newer release is likely to know more; otherwise empty
};
[[nodiscard]] base::Result<DataAge> data_age(
    const std::function<base::Result<std::string>(std::string_view path)>& asset,
    base::Day today = base::today());

/// The article of a check, or nullptr.
[[nodiscard]] const Article* article(const Data& data, std::string_view id);

/// The hosts that are examined. Empty: all.
using Selection = std::function<bool(const facts::Facts&)>;

/// Runs every check of a stage: host by host in name order, checks in table order, then the checks across
/// hosts. Passes are included (Verdict::pass), so that a report can count them. Unreachable hosts are
/// excluded. Rules that depend on the Kubernetes version use the decided one, otherwise the requested one,
/// otherwise the version of kubeadm on the host, otherwise (source: packages) the catalog's.
[[nodiscard]] std::vector<report::Finding> examine(const spec::Cluster& cluster,
                                                   const spec::Decisions& decisions,
                                                   const facts::Census& census, const Data& data, Stage stage,
                                                   const Selection& hosts = {});

/// Runs the checks of the stage `cluster`: the state reported by its control plane, compared with the
/// reachable hosts.
[[nodiscard]] std::vector<report::Finding> examine_cluster(const spec::Cluster& cluster,
                                                           const facts::Census& census,
                                                           const facts::ClusterFacts& facts,
                                                           const Data& data);

/// Whether DeviceTaintRules break the kube-scheduler of this version of Kubernetes: that of 1.36.0 to 1.36.2
/// ignores their changes, and ends with a panic while one exists (kubernetes/kubernetes#139681, fixed in
/// 1.36.3).
[[nodiscard]] bool is_broken_by_taint_rules(const base::Version& version);

/// The Kubernetes version of a scheduler of this cluster that DeviceTaintRules break. By the versions of the
/// API server and of the kubelets of control-plane nodes. Empty: there is none.
[[nodiscard]] std::string version_broken_by_taint_rules(const facts::ClusterFacts& facts);

/// Whether the text of a finding names this GPU, by slot, index or UUID. `gpu`: nullptr if the driver does
/// not list it.
[[nodiscard]] bool names_gpu(const report::Finding& finding, const std::string& slot, const facts::Gpu* gpu);

/// The driver to install on a host.
struct DriverChoice {
  int branch = 0;
  std::string modules;  ///< flavor of the kernel modules: "open" or "proprietary"
};
/// The branch with the longest support that supports every GPU on the bus, or `asked` if it is not 0; open
/// modules if every GPU supports them. Fault::blocked names the GPU that prevents it.
[[nodiscard]] base::Result<DriverChoice> choose_driver(const std::vector<facts::PciGpu>& gpus, int asked,
                                                       const Data& data);

/// Lints feature gates and kubelet flags of a cluster against a Kubernetes minor version; used by examine and
/// by `config lint`.
[[nodiscard]] std::vector<report::Finding> lint(const spec::Cluster& cluster, const base::Version& kubernetes,
                                                const Data& data);

/// The first section of the probe that steps depend on and that could not be read, with the reason: "units
/// could not be read: timed out". The check host.probe.complete fails for the same sections.
[[nodiscard]] std::optional<std::string> unread_for_plan(const facts::Facts& facts);

}  // namespace checks
