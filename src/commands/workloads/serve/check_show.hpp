#pragma once

#include "gpuadm/model/fit.hpp"
#include "gpuadm/report/style.hpp"

#include "commands/workloads/serve/check_gpus.hpp"

#include <string>
#include <vector>

namespace commands {

/// A set of GPUs, and whether the model fits on it.
struct CheckedGpus {
  GpuSet gpus;
  model::Fit fit;
  [[nodiscard]] bool fits() const { return gpus.problem.empty() && fit.verdict == model::Verdict::fits; }
};

/// The model, a line for each host, the sum of the best one, and what is to be known or would fit.
[[nodiscard]] std::string text_of_check(const model::Model& model, const std::vector<CheckedGpus>& checked,
                                        const report::Style& style);
[[nodiscard]] base::Tree tree_of_check(const model::Model& model, const std::vector<CheckedGpus>& checked);

}  // namespace commands
