#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/facts/gpu_sample.hpp"
#include "gpuadm/session/options.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace session {

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

}  // namespace session
