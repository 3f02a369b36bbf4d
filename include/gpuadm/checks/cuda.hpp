#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/version.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Which NVIDIA driver runs which CUDA: https://docs.nvidia.com/deploy/cuda-compatibility
namespace checks {

class CudaDrivers {
 public:
  /// Parses data/cuda-driver.csv and data/cuda-compat-rules.csv; Fault::parse names file and line.
  [[nodiscard]] static base::Result<CudaDrivers> read(
      const std::function<base::Result<std::string>(std::string_view path)>& asset);
  /// The lowest driver that runs programs of a CUDA version: from CUDA 11 on that of its major version, by
  /// minor-version compatibility, before that the one of the release. Nothing: the tables do not have it.
  [[nodiscard]] std::optional<std::string> lowest_driver(const base::Version& cuda) const;
  /// The CUDA version that a driver reports, as nvidia-smi shows it. Nothing: the driver is older than the
  /// tables.
  [[nodiscard]] std::optional<base::Version> cuda_of(const base::Version& driver) const;
  /// Whether the driver's branch is newer than all in the tables, so that cuda_of is too low.
  [[nodiscard]] bool is_newer_than_tables(const base::Version& driver) const;

 private:
  struct Row {
    base::Version cuda, driver;
    std::string text;  ///< the driver as written
  };
  std::vector<Row> releases_, majors_;  ///< ascending by CUDA
};

}  // namespace checks
