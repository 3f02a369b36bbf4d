#pragma once

#include "gpuadm/session/gpu_samples.hpp"
#include "gpuadm/session/recording.hpp"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace session {

/// What is read of a cluster while its GPUs are sampled, again and again: the facts and the health of each
/// host, and, of a control-plane node, the cluster and its workloads.
class ClusterReadings {
 public:
  /// Fault::bug if an asset is missing. `selector`, `kinds`: of the workloads.
  [[nodiscard]] static Result<ClusterReadings> open(const spec::Cluster& cluster, const assets::Store& assets,
                                                    const std::vector<std::string>& kinds,
                                                    const std::string& selector);
  /// For the sampling of the same hosts. Refers to this.
  [[nodiscard]] OtherReadings others();
  /// A host does not answer. Its facts are read again as soon as it does.
  void lose(const std::string& host, const base::Error& error);

  /// The last facts of the hosts, or why there are none, and the last view of the cluster.
  [[nodiscard]] const Recording& survey() const { return survey_; }
  /// The control-plane node that described the cluster, and when; empty: none has yet.
  [[nodiscard]] const std::string& asked() const { return asked_; }
  [[nodiscard]] base::Time viewed() const { return viewed_; }
  /// Objects of the workloads. Nothing: they were not read.
  [[nodiscard]] const std::optional<std::vector<base::Tree>>& workloads() const { return workloads_; }
  /// Why the last reading of the cluster or of its workloads failed; empty: it did not.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Output of playbooks/read/health.sh `recent`, by host.
  [[nodiscard]] const std::map<std::string, std::string>& health() const { return health_; }
  /// Changes with each reading.
  [[nodiscard]] std::size_t version() const { return version_; }

 private:
  enum Reading : std::size_t { probe, health_state, view, objects, count };
  struct Host {
    std::array<base::Instant, count> due{};
    std::array<bool, count> taken{};
    std::optional<Reading> asked;
    bool view_failed = false;
  };

  ClusterReadings() = default;
  [[nodiscard]] bool applies(const std::string& host, Reading reading, const facts::GpuSample& sample) const;
  [[nodiscard]] std::string control_plane() const;
  [[nodiscard]] std::optional<transport::Command> next(const std::string& host,
                                                       const facts::GpuSample& sample);
  /// Keeps why there are no facts of a host.
  void note(const std::string& host, const base::Error& error);
  void take(const std::string& name, Result<transport::Exit> result);
  void take_view(const std::string& name, Host& host, const transport::Exit& exit);
  void take_objects(const std::string& name, Host& host, const transport::Exit& exit);

  Recording survey_;
  std::array<transport::Command, count> commands_;
  std::map<std::string, Host> hosts_;
  std::string asked_, problem_;
  base::Time viewed_;
  std::optional<std::vector<base::Tree>> workloads_;
  std::map<std::string, std::string> health_;
  std::size_t version_ = 0;
};

}  // namespace session
