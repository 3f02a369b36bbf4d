#pragma once

#include "gpuadm/workload/pod_log.hpp"

#include "commands/workloads/train/train_session.hpp"

#include <map>
#include <string>
#include <string_view>

namespace commands {

/// Prints the logs of the ranks of a job.
class RankLogs {
 public:
  RankLogs(session::ClusterClient& client, std::string ns, std::string name, Io& io)
      : client_(client), ns_(std::move(ns)), name_(std::move(name)), io_(io) {}

  /// Prints what is new, up to a limit for each rank; `rank`: -1: all. A rank whose log cannot be read is not
  /// an error.
  [[nodiscard]] Result<> print_next(const workload::TrainState& state, int rank);
  /// Prints all that is new, in several answers if necessary. Reads that fail are repeated twice.
  [[nodiscard]] Result<> print_all(const workload::TrainState& state, int rank);
  /// Names the ranks whose logs were not read completely, with the reason.
  void report_unread() const;
  [[nodiscard]] bool has_read_all() const { return unread_.empty(); }

 private:
  [[nodiscard]] Result<std::string> read(const std::string& requests, std::size_t pods);
  [[nodiscard]] Result<> print_answer(std::string_view answer, const workload::TrainState& state);
  void print_log(const workload::RankState& one, std::string_view text);

  session::ClusterClient& client_;
  std::string ns_, name_;
  Io& io_;
  std::map<std::string, workload::PodLog> logs_;  ///< by pod
  std::map<std::string, bool> complete_;          ///< pods that have ended and were read since
  std::map<int, std::string> unread_;             ///< why the log of a rank was not read completely
  static constexpr std::size_t usual_bytes = 4u << 20;
  std::size_t most_ = usual_bytes;  ///< bytes of each log in one answer
  bool has_more_ = false;           ///< the last answers did not contain all
  bool is_stuck_ = false;           ///< nor anything new of one of the logs
};

}  // namespace commands
