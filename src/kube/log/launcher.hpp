#pragma once

#include "kube/log/traceback.hpp"

#include <span>
#include <string>
#include <string_view>

/// What launchers of several processes (torchrun, mpirun, DeepSpeed, the engines of vLLM) print when one of
/// them fails.
namespace kube::pod {

/// The process that failed first.
struct FirstFailure {
  std::string rank;  ///< empty: unknown
  std::string host;  ///< of the process; empty: unknown
  int signal = 0;    ///< that ended it; 0: none
};
[[nodiscard]] FirstFailure first_failure(std::span<const std::string> log);

/// Whether an exception is of a program that started another one, which failed.
[[nodiscard]] bool is_of_launcher(const Exception& one);
/// Whether it is what the other processes of a job report when one of them has ended.
[[nodiscard]] bool is_of_lost_peer(const Exception& one);
/// Whether it only reports that something else failed, such as a worker, a peer or an engine, or says
/// nothing.
[[nodiscard]] bool is_consequence(const Exception& one);
/// Whether a message refers to errors in the log before it.
[[nodiscard]] bool points_above(std::string_view message);
/// Whether it reports that another program failed, whose lines are in the log before it.
[[nodiscard]] bool is_of_program(const Exception& one);
/// Whether a process, as its lines begin, has this rank: "[rank1]:", "[default1]:", "[1,1]<stderr>:".
[[nodiscard]] bool has_rank(std::string_view process, std::string_view rank);
/// Whether a line is torchrun's, about a process that ended with an exit code of its own.
[[nodiscard]] bool is_of_torchrun(std::string_view line);

/// Whether a name is one of these.
[[nodiscard]] bool is_one_of(std::string_view name, std::span<const std::string_view> names);

}  // namespace kube::pod
