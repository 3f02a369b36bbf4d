#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/watch.hpp"

#include "session/read/gpu_pods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace session {

namespace {

using base::Clock;
using base::Fault;
using base::Instant;
using std::chrono::seconds;

/// The script has shorter limits for each of its commands.
constexpr seconds sample_limit{75}, pods_limit{30};
constexpr std::size_t output_limit = 4u << 20;
/// The first interval also opens the connections.
constexpr seconds connecting{10};
/// Pauses: after a failed connection, after a refused login, of a host without nvidia-smi.
constexpr seconds short_pause{5}, long_pause{60};
constexpr seconds between_instances{10};

/// How long another command may take before its host counts as not answering.
constexpr seconds others_timeout{20};

enum class AskedOfLane { nothing, sample, node_pods, cluster_pods, other };

/// What is known about a host in addition to its samples.
struct Lane {
  AskedOfLane asked = AskedOfLane::nothing;
  Instant since, due;      ///< when it was asked; when it is sampled next
  Instant answered;        ///< when it last answered with readings
  Instant instances_read;  ///< when its MIG instances were read
  bool late = false;       ///< it did not answer within an interval: the others do not wait for it
  bool doubtful = true;    ///< an nvidia-smi may hang
  bool answers = false;    ///< it has answered at least once
  int failures = 0;        ///< in a row
};

class Sampler {
 public:
  Sampler(transport::Fleet& fleet, const GpuSampling& sampling, std::string sample, std::string pods)
      : fleet_(fleet), sampling_(sampling), sample_(std::move(sample)), pods_(std::move(pods)) {
    for (const std::string& host : fleet.hosts()) {
      lanes_[host].answered = Clock::now();
      samples_.hosts[host];
    }
  }

  Result<Outcome> run() {
    Instant begun = Clock::now();
    for (int interval = 1;; ++interval) {
      const Instant end = begun + sampling_.every;
      ask_samples();
      TRY(collect(interval == 1 ? std::max(end, begun + connecting) : end, Until::answered));
      if (fleet_.interrupted()) return Outcome::interrupted;
      note_late();
      TRY(show(SampleMoment::complete));
      if (sampling_.count > 0 && interval >= sampling_.count && !outstanding()) break;
      TRY(collect(end, Until::deadline));
      if (fleet_.interrupted()) return Outcome::interrupted;
      begun = Clock::now() < end + sampling_.every ? end : Clock::now();
    }
    const bool some = std::ranges::any_of(lanes_, [](const auto& lane) { return lane.second.answers; });
    return some ? Outcome::done : Outcome::unreachable;
  }

 private:
  enum class Until { answered, deadline };

  /// Takes answers until the deadline, or until every host that is not late has answered.
  Result<> collect(Instant deadline, Until until) {
    while (!fleet_.interrupted() && Clock::now() < deadline) {
      ask_others();
      if (until == Until::answered && !waits()) return {};
      auto completion = fleet_.next_until(std::min(deadline, drawn_ + seconds(1)));
      if (fleet_.interrupted()) return {};
      if (completion) {
        take(std::move(*completion));
        ask_pods();
      }
      if (Clock::now() >= drawn_ + seconds(1)) TRY(show(SampleMoment::waiting));
    }
    return {};
  }

  bool waits() const {
    return std::ranges::any_of(lanes_, [](const auto& lane) {
      return lane.second.asked != AskedOfLane::nothing && lane.second.asked != AskedOfLane::other &&
             !lane.second.late;
    });
  }

  void note_late() {
    for (auto& [name, lane] : lanes_)
      if (lane.asked != AskedOfLane::nothing) lane.late = true;
  }

  void submit(const std::string& host, AskedOfLane what, transport::Command command) {
    Lane& lane = lanes_.at(host);
    lane.asked = what;
    lane.since = Clock::now();
    fleet_.submit(host, std::move(command));
  }

  void ask_samples() {
    const Instant now = Clock::now();
    for (auto& [name, lane] : lanes_) {
      if (lane.asked != AskedOfLane::nothing || lane.due > now) continue;
      const auto& sample = samples_.hosts.at(name).sample;
      const bool has_instances =
          sample && std::ranges::any_of(sample->gpus, [](const facts::GpuReading& gpu) { return gpu.mig; });
      const bool instances = has_instances && now >= lane.instances_read + between_instances;
      if (instances) lane.instances_read = now;
      submit(name, AskedOfLane::sample,
             {.label = "sample the GPUs",
              .script = base::assignments({{"fields", sample ? sample->fields : ""},
                                           {"mig", instances ? "yes" : "no"},
                                           {"doubtful", lane.doubtful ? "yes" : "no"}}) +
                        sample_,
              // nvidia-smi and control groups need no root, and sudo would write a line of log each time.
              .as = transport::As::login,
              .timeout = sample_limit,
              .output_limit = output_limit});
    }
  }

  void ask_pods() {
    const Instant now = Clock::now();
    if (const std::string plane = idle_control_plane(); !plane.empty()) {
      if (const auto uids = naming_.for_cluster(now); !uids.empty()) {
        naming_.asked_cluster(uids, now);
        submit(plane, AskedOfLane::cluster_pods, names_of(uids, "cluster"));
      }
    }
    for (const auto& [name, lane] : lanes_) {
      if (lane.asked != AskedOfLane::nothing || !lane.answers) continue;
      const auto uids = naming_.for_node(name, now);
      if (uids.empty()) continue;
      naming_.asked_node(uids, now);
      submit(name, AskedOfLane::node_pods, names_of(uids, "node"));
    }
  }

  void ask_others() {
    if (!sampling_.others.next) return;
    for (const auto& [name, lane] : lanes_) {
      const auto& sample = samples_.hosts.at(name).sample;
      if (lane.asked != AskedOfLane::nothing || lane.failures > 0 || !sample) continue;
      if (auto command = sampling_.others.next(name, *sample))
        submit(name, AskedOfLane::other, std::move(*command));
    }
  }

  /// Hosts that do not answer are not waited for.
  bool outstanding() const {
    if (!sampling_.others.next) return false;
    return std::ranges::any_of(lanes_, [&](const auto& entry) {
      const auto& [name, lane] = entry;
      const auto& sample = samples_.hosts.at(name).sample;
      return lane.asked == AskedOfLane::other ||
             (lane.failures == 0 && sample && sampling_.others.outstanding(name, *sample));
    });
  }

  transport::Command names_of(const std::vector<std::string>& uids, const char* from) const {
    return {.label = "name the pods that use GPUs",
            .script = base::assignments({{"uids", base::join(uids, " ")}, {"from", from}}) + pods_,
            .timeout = pods_limit,
            .output_limit = output_limit};
  }

  std::string idle_control_plane() const {
    for (const auto& [name, lane] : lanes_) {
      const auto& sample = samples_.hosts.at(name).sample;
      if (sample && sample->control_plane && lane.asked == AskedOfLane::nothing && lane.failures == 0)
        return name;
    }
    return {};
  }

  void take(transport::Completion completion) {
    Lane& lane = lanes_.at(completion.host);
    const AskedOfLane asked = std::exchange(lane.asked, AskedOfLane::nothing);
    lane.late = false;
    if (asked == AskedOfLane::sample) {
      take_sample(completion.host, lane, std::move(completion.result));
    } else if (asked == AskedOfLane::other) {
      take_other(completion.host, lane, std::move(completion.result));
    } else if (completion.result) {
      const facts::PodNames names = facts::parse_pod_names(completion.result->out);
      asked == AskedOfLane::cluster_pods ? naming_.answered_cluster(names) : naming_.answered_node(names);
    }
  }

  void take_sample(const std::string& name, Lane& lane, Result<transport::Exit> result) {
    SampledHost& host = samples_.hosts.at(name);
    auto sample = result ? facts::parse_gpu_sample(result->out)
                         : Result<facts::GpuSample>(std::unexpected(std::move(result).error()));
    if (!sample) {
      fail(lane, sample.error().fault);
      host.problem = base::without_host(sample.error().what, name);
      host.error = std::move(sample).error();
      return;
    }
    lane.failures = 0;
    lane.answers = true;
    lane.doubtful = !sample->failure.empty();
    lane.due = sample->has_smi ? Instant() : Clock::now() + long_pause;
    host.error.reset();
    host.problem = sample->failure;
    if (!sample->has_smi || sample->failure.empty()) lane.answered = Clock::now();
    naming_.note(name, *sample);
    if (host.sample && !sample->instances_read) keep_instances(*host.sample, *sample);
    host.sample = std::move(*sample);
  }

  /// A host whose other command failed, for example in sudo, may still answer: the next sample shows it.
  void take_other(const std::string& name, Lane& lane, Result<transport::Exit> result) {
    if (!result) lane.due = Instant();
    sampling_.others.take(name, std::move(result));
  }

  /// The instances are read less often than the GPUs.
  static void keep_instances(facts::GpuSample& before, facts::GpuSample& now) {
    for (facts::GpuReading& gpu : now.gpus)
      if (const auto old = std::ranges::find(before.gpus, gpu.uuid, &facts::GpuReading::uuid);
          gpu.mig && old != before.gpus.end())
        gpu.instances = std::move(old->instances);
  }

  /// Refused logins are repeated rarely: hosts block clients that repeat them.
  static void fail(Lane& lane, Fault fault) {
    lane.doubtful = true;
    ++lane.failures;
    const bool refused = fault == Fault::auth || fault == Fault::host_key;
    lane.due =
        Clock::now() +
        (refused ? long_pause : std::min(long_pause, short_pause * (1 << std::min(lane.failures - 1, 4))));
  }

  Result<> show(SampleMoment moment) {
    const Instant now = drawn_ = Clock::now();
    const Clock::duration timeout = std::max<Clock::duration>(2 * sampling_.every, seconds(3));
    for (auto& [name, host] : samples_.hosts) {
      const Lane& lane = lanes_.at(name);
      const bool waiting = (lane.asked == AskedOfLane::sample && now - lane.since > timeout) ||
                           (lane.asked == AskedOfLane::other && now - lane.since > others_timeout);
      if (waiting && host.problem.empty()) host.problem = "no answer yet";
      const bool without_smi = host.sample && !host.sample->has_smi && !host.error && !waiting;
      host.silent_seconds.reset();
      if (!without_smi && (waiting || !host.problem.empty() || !host.sample))
        host.silent_seconds = std::chrono::duration<double>(now - lane.answered).count();
    }
    return sampling_.show(samples_, moment);
  }

  transport::Fleet& fleet_;
  const GpuSampling& sampling_;
  const std::string sample_, pods_;
  std::map<std::string, Lane> lanes_;
  GpuSamples samples_;
  PodNaming naming_{samples_.pods};
  Instant drawn_ = Clock::now();
};

}  // namespace

Result<Outcome> sample_gpus(transport::Fleet& fleet, const assets::Store& assets,
                            const GpuSampling& sampling) {
  std::string sample = TRY(script_of("playbooks/read/gpu-top.sh", assets));
  std::string pods = TRY(script_of("playbooks/read/gpu-pods.sh", assets));
  return Sampler(fleet, sampling, std::move(sample), std::move(pods)).run();
}

}  // namespace session
