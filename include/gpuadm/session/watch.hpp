#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/error.hpp"
#include "gpuadm/facts/gpu_sample.hpp"
#include "gpuadm/report/changes.hpp"
#include "gpuadm/session/options.hpp"
#include "gpuadm/session/recording.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace session {

using base::Result;

/// Evaluates the checks on a survey.
using Judge = std::function<Result<std::vector<report::Finding>>(const ClusterSurvey&)>;

/// Callbacks of a watch.
struct Watcher {
  std::chrono::seconds every;
  /// Also read the cluster from the control plane.
  bool view = false;
  Reasons reasons = Reasons::skipped;
  Judge judge;
  /// Changes since the last call, and all findings; called every second even without changes, so that a page
  /// can be refreshed.
  std::function<void(std::span<const report::Change>, const std::vector<report::Finding>&)> notify;
};

/// Surveys every host repeatedly, each independently, over persistent connections, until Ctrl-C. A host that
/// does not respond keeps its last facts and is reported as unreachable; the other hosts do not wait for it.
/// `recording` contains the cluster, and at the end the last survey.
[[nodiscard]] Result<> watch(ClusterSurvey& recording, transport::Fleet& fleet, const assets::Store& assets,
                             const Watcher& watcher);

/// A host whose GPUs are sampled.
struct SampledHost {
  std::optional<facts::GpuSample> sample;  ///< the last one; it may consist of a failure only
  /// Why there is no current sample; empty: it is current, or the host still has time to answer.
  std::string problem;
  std::optional<base::Error> error;  ///< of the last command, if it failed
  /// Time since the last sample with readings, or since the start; set while the host does not answer.
  std::optional<double> silent_seconds;
};

/// The last samples of all hosts, and the pods that were named so far, by UID.
struct GpuSamples {
  std::map<std::string, SampledHost> hosts;
  std::map<std::string, facts::PodName, std::less<>> pods;
};

/// `waiting`: about once a second while an interval is running. `complete`: once an interval, when every host
/// that answers has answered.
enum class SampleMoment { waiting, complete };

/// Other commands for the hosts, each between two samples of its host. All functions are set, or none is.
struct OtherReadings {
  /// The next command for an idle host that answers. `sample`: its last one. Nothing: none is due.
  std::function<std::optional<transport::Command>(const std::string& host, const facts::GpuSample& sample)>
      next;
  /// Its result. After an error, the host is sampled at once: that shows whether it answers.
  std::function<void(const std::string& host, Result<transport::Exit> result)> take;
  /// Whether a first answer is outstanding: `count` intervals do not end the sampling then.
  std::function<bool(const std::string& host, const facts::GpuSample& sample)> outstanding;
};

struct GpuSampling {
  std::chrono::seconds every{2};
  int count = 0;  ///< intervals; 0: until Ctrl-C
  /// An error ends the sampling.
  std::function<Result<>(const GpuSamples&, SampleMoment)> show;
  OtherReadings others = {};
};

/// Samples the GPUs of all hosts of the fleet, one short command per host and interval, and names the pods
/// that use them: by their nodes, and by a control-plane node if one of the hosts is one. A host that does
/// not answer delays no other, and is not sent another command. `done` after `count` intervals, `unreachable`
/// if no host answered in any, `interrupted` after Ctrl-C.
[[nodiscard]] Result<Outcome> sample_gpus(transport::Fleet& fleet, const assets::Store& assets,
                                          const GpuSampling& sampling);

/// Which objects are workloads.
struct WorkloadKinds {
  std::vector<std::string> kinds;
  std::string selector;
  /// Kinds with the places of workloads in queues, of an add-on that clusters may lack: read while one waits.
  std::vector<std::string> queue_kinds = {};
  std::function<bool(std::span<const base::Tree> workloads)> has_queued = {};
};

/// What is read of a cluster while its GPUs are sampled, again and again: the facts and the health of each
/// host, and, of a control-plane node, the cluster and its workloads.
class ClusterReadings {
 public:
  /// Fault::bug if an asset is missing.
  [[nodiscard]] static Result<ClusterReadings> open(const spec::Cluster& cluster, const assets::Store& assets,
                                                    const WorkloadKinds& workloads);
  /// For the sampling of the same hosts. Refers to this.
  [[nodiscard]] OtherReadings others();
  /// A host does not answer. Its facts are read again as soon as it does.
  void lose(const std::string& host, const base::Error& error);

  /// The last facts of the hosts, or why there are none, and the last view of the cluster.
  [[nodiscard]] const ClusterSurvey& survey() const { return survey_; }
  /// The control-plane node that described the cluster, and when; empty: none has yet.
  [[nodiscard]] const std::string& asked() const { return asked_; }
  [[nodiscard]] base::Time viewed() const { return viewed_; }
  /// Objects of the workloads. Nothing: they were not read.
  [[nodiscard]] const std::optional<std::vector<base::Tree>>& workloads() const { return workloads_; }
  /// Objects of their queues. Nothing: none waits in one, or they were not read.
  [[nodiscard]] const std::optional<std::vector<base::Tree>>& queues() const { return queues_; }
  /// Why the last reading of the cluster or of its workloads failed; empty: it did not.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Output of playbooks/read/health.sh `recent`, by host.
  [[nodiscard]] const std::map<std::string, std::string>& health() const { return health_; }
  /// Changes with each reading.
  [[nodiscard]] std::size_t version() const { return version_; }

 private:
  enum Reading : std::size_t { probe, health_state, view, objects, queue_objects, count };
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
  /// Without them, the places are unknown, and the view is not old for that.
  void take_queues(const std::string& name, const transport::Exit& exit);

  ClusterSurvey survey_;
  std::array<transport::Command, count> commands_;
  std::map<std::string, Host> hosts_;
  std::string asked_, problem_;
  base::Time viewed_;
  std::function<bool(std::span<const base::Tree>)> has_queued_;
  std::optional<std::vector<base::Tree>> workloads_, queues_;
  std::map<std::string, std::string> health_;
  std::size_t version_ = 0;
};

}  // namespace session
