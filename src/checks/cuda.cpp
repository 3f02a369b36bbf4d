#include "gpuadm/checks/cuda.hpp"

#include "gpuadm/base/text.hpp"

#include "checks/csv.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace checks {

namespace {

using base::Result;
using base::Version;

constexpr const char *releases_file = "data/cuda-driver.csv", *rules_file = "data/cuda-compat-rules.csv";
/// The first major version with minor-version compatibility.
constexpr int first_compatible_major = 11;

std::unexpected<base::Error> invalid(const char* path, const std::string& key) {
  return base::fail(base::Fault::parse, fmt::format("{}: {}: is not a valid row", path, key));
}

}  // namespace

Result<CudaDrivers> CudaDrivers::read(const std::function<Result<std::string>(std::string_view)>& asset) {
  CudaDrivers drivers;
  for (const auto& row :
       TRY(read_csv(TRY(asset(releases_file)),
                    {"cuda_version", "min_linux_driver", "notes", "source", "seen"}, releases_file))) {
    const auto cuda = Version::parse(row[0]), driver = Version::parse(row[1]);
    if (!cuda || !driver) return invalid(releases_file, row[0]);
    drivers.releases_.push_back({*cuda, *driver, row[1]});
  }
  for (const auto& row :
       TRY(read_csv(TRY(asset(rules_file)), {"rule", "applies_to", "requirement", "notes", "source", "seen"},
                    rules_file))) {
    if (row[0] != "minor-version" || !row[2].starts_with(">=")) continue;
    const auto cuda = Version::parse(row[1]), driver = Version::parse(std::string_view(row[2]).substr(2));
    if (!cuda || !driver) return invalid(rules_file, row[1]);
    drivers.majors_.push_back({{cuda->major, 0, 0}, *driver, row[2].substr(2)});
  }
  std::ranges::sort(drivers.releases_, {}, &Row::cuda);
  std::ranges::sort(drivers.majors_, {}, &Row::cuda);
  return drivers;
}

std::optional<std::string> CudaDrivers::lowest_driver(const Version& cuda) const {
  if (cuda.major >= first_compatible_major) {
    for (const Row& row : majors_)
      if (row.cuda.major == cuda.major) return row.text;
    return std::nullopt;
  }
  // The first release of the minor version, unless the patch version is known.
  const Row* found = nullptr;
  for (const Row& row : releases_)
    if (row.cuda.major == cuda.major && row.cuda.minor == cuda.minor &&
        (!found || (cuda.patch >= 0 && row.cuda.patch <= cuda.patch)))
      found = &row;
  if (!found) return std::nullopt;
  return found->text;
}

std::optional<Version> CudaDrivers::cuda_of(const Version& driver) const {
  std::optional<Version> newest;
  // A branch has one CUDA version, in all of its releases.
  for (const Row& row : releases_)
    if (row.driver.major <= driver.major) newest = Version{row.cuda.major, row.cuda.minor, -1};
  return newest;
}

bool CudaDrivers::is_newer_than_tables(const Version& driver) const {
  return std::ranges::all_of(releases_, [&](const Row& row) { return row.driver.major < driver.major; });
}

}  // namespace checks
