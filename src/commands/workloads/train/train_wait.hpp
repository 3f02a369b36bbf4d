#pragma once

#include "commands/workloads/train/train_create.hpp"

#include <chrono>

namespace commands {

/// What `train run --wait` allows.
struct TrainWait {
  std::chrono::seconds start{300};          ///< until all ranks run
  std::optional<base::Instant> gpus_until;  ///< GPUs that others hold are waited for; nothing: they are not
  [[nodiscard]] bool is_over() const { return !gpus_until || base::Clock::now() >= *gpus_until; }
};
/// `text`: "300", "30m" or "12h"; empty: the default. Fault::usage.
[[nodiscard]] Result<TrainWait> read_train_wait(const std::string& text);

/// view_for, as soon as the job fits, or something else blocks it, or the time is over. Prints which GPUs it
/// waits for and who holds them. `ignored`: ids of findings that do not block. Fault::interrupted after
/// Ctrl-C.
[[nodiscard]] Result<TrainView> view_when_gpus_are_free(session::ClusterClient& client,
                                                        const workload::TrainJob& job,
                                                        const std::vector<base::Tree>& created,
                                                        const std::vector<std::string>& ignored,
                                                        const TrainWait& wait, Io& io);

/// Whether blockers are left that are not ignored, which become warnings.
[[nodiscard]] bool are_blocked(std::vector<report::Finding>& findings,
                               const std::vector<std::string>& ignored);

/// Sets the queue of a job: that of `option`, or of the label of its manifest if the cluster has queues.
/// Fault::blocked if the cluster has no queues, or the namespace not this one; then with those that it has.
[[nodiscard]] Result<> find_queue(session::ClusterClient& client, workload::TrainJob& job,
                                  const std::string& option, const Hosts& hosts);

/// Where a job is that its queue has not admitted.
struct QueuePlace {
  bool known = false;  ///< Kueue has queued it
  std::string text;    ///< "3rd of 5 in the queue gpuadm; needs 4 GPUs, 2 are free"
};
[[nodiscard]] Result<QueuePlace> read_place(session::ClusterClient& client,
                                            const workload::TrainState& state);

}  // namespace commands
