#pragma once

#include "commands/workloads/train/rank_logs.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>

namespace commands {

/// How long a job may take to start. The time in its queue is not part of the others.
struct StartLimits {
  std::chrono::seconds start;                     ///< until all ranks run
  std::optional<std::chrono::seconds> node = {};  ///< until each has a node; nothing: as long as that
  std::chrono::hours queue{24};                   ///< in its queue
  bool leaves_queued = false;                     ///< returns once the job is in its queue
};

struct QueuePlace;

/// Waits for a job, and prints the logs of its ranks.
class TrainFollow {
 public:
  TrainFollow(TrainSession& opened, const std::string& ns, const std::string& name, Io& io)
      : hosts_(opened.cluster),
        client_(*opened.client),
        ns_(ns),
        name_(name),
        io_(io),
        logs_(client_, ns, name, io) {}

  /// Until every rank has started. Fault::timeout after a limit, Fault::blocked if waiting does not help,
  /// both with the explanation of the pod and its fix; the caller deletes the objects.
  [[nodiscard]] Result<workload::TrainState> wait_for_start(const StartLimits& limits);
  /// Until the job has ended. If a rank fails, or its node, the others are ended. Fault::interrupted after
  /// Ctrl-C: the job keeps running.
  /// Fault::timeout after `limit`, if it is above 0; the job keeps running then, too.
  [[nodiscard]] Result<workload::TrainState> follow(std::chrono::seconds limit = {});
  /// The same without changing anything, for one rank or all (-1).
  [[nodiscard]] Result<workload::TrainState> watch(int rank);
  [[nodiscard]] RankLogs& logs() { return logs_; }

 private:
  [[nodiscard]] Result<workload::TrainState> read();
  [[nodiscard]] Result<> sleep();
  /// Prints the place of a job in its queue. True: it is to be left there. Faults as of wait_for_start.
  [[nodiscard]] Result<bool> wait_in_queue(const QueuePlace& place, const StartLimits& limits);
  void show_place(const QueuePlace& place);
  /// Whether ranks that end with the others still run, and are to be ended.
  [[nodiscard]] bool waits_for_followers(const workload::TrainState& state) const;
  /// Ends the other ranks if one cannot continue, or the deciding ones have succeeded. Kubernetes does so
  /// itself only in an Indexed Job.
  [[nodiscard]] Result<> end_if_lost(workload::TrainState& state);
  /// Whether the other ranks of a failed one are ended.
  enum class Others { unchanged, ended };
  [[nodiscard]] Result<workload::TrainState> turn(int rank, Others others);
  [[nodiscard]] Result<workload::TrainState> until_end(int rank, Others others,
                                                       std::chrono::seconds limit = {});

  const spec::Cluster& hosts_;
  session::ClusterClient& client_;
  std::string ns_, name_;
  Io& io_;
  RankLogs logs_;
  std::map<int, base::Instant> unreachable_since_;  ///< by rank
  int failed_reads_ = 0;                            ///< reads that found the job failed
  bool ended_others_ = false;
  std::optional<base::Instant> succeeded_since_;  ///< while others run
  std::optional<base::Instant> queued_since_;
  std::string shown_place_;
};

/// The last lines: "train/NAME succeeded", or the first failed rank with the explanation of its pod; and the
/// outcome.
[[nodiscard]] Outcome report_end(const workload::TrainState& state, TrainSession& opened, Io& io);

}  // namespace commands
