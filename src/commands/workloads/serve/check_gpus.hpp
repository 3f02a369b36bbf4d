#pragma once

#include "gpuadm/facts/facts.hpp"
#include "gpuadm/model/fit.hpp"

#include "commands/command.hpp"

#include <string>
#include <string_view>

namespace commands {

/// GPUs on which a model is to run.
struct GpuSet {
  std::string host;     ///< empty: given on the command line
  std::string problem;  ///< why they cannot be used, or are unknown; empty: nothing
  int count = 0;        ///< GPUs that can be used, of which `demand.gpus` are requested
  model::Demand demand;
};

/// The demand with the GPUs of a host: those with the most free memory, except in quarantine or divided by
/// MIG.
[[nodiscard]] GpuSet gpus_of(const std::string& host, const facts::Facts& facts, const model::Demand& demand);

/// "80GiB", "80Gi", "80GB" as bytes. Fault::usage.
[[nodiscard]] Result<std::uint64_t> parse_gpu_memory(const std::string& text);

/// The compute capability of a product in data/gpus.csv, by its name or a part of it. Fault::usage if it is
/// none, or if several differ.
[[nodiscard]] Result<base::Version> capability_of(const std::string& product, std::string_view csv);

}  // namespace commands
