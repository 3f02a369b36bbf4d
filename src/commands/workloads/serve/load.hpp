#pragma once

#include "gpuadm/base/tree.hpp"

#include "commands/workloads/serve/completion.hpp"

#include <string>
#include <vector>

namespace commands {

/// What clients have measured that send one completion after the other.
struct Load {
  int clients = 0;
  double seconds = 0;
  long long requests = 0;  ///< that were answered
  long long errors = 0, tokens = 0;
  std::vector<double> first_tokens = {};  ///< seconds, of each request
  std::string error = {};                 ///< the first one; empty: none
};
/// Sends completions of `tokens` tokens for so many seconds. Requests that are not answered by then do not
/// count. Fault::interrupted after Ctrl-C.
[[nodiscard]] Result<Load> measure_load(const CompletionTarget& target, int clients,
                                        std::chrono::seconds duration, int tokens,
                                        base::Interrupt& interrupt);
/// The value that this part of them does not exceed; 0: there are none.
[[nodiscard]] double quantile(std::vector<double> values, double part);
[[nodiscard]] std::string to_text(const Load& load);
[[nodiscard]] base::Tree to_tree(const Load& load);

}  // namespace commands
