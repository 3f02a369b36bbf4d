#pragma once

#include "commands/workloads/train/train_follow.hpp"

#include <functional>
#include <string>

namespace commands {

/// The rest of a command whose job has been created.
struct Attendance {
  std::string ns, name;
  StartLimits limits;
  bool detach = false;
  std::function<base::Error(base::Error)> withdraw;  ///< if not all ranks start
};
/// Waits until all ranks run, or with `detach` until the job is in its queue, and follows their logs until
/// the job ends.
[[nodiscard]] Result<Outcome> attend(TrainSession& opened, const Attendance& how, Io& io);

}  // namespace commands
