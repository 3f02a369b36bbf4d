#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/base/version.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace checks {

/// The day until which a release line gets fixes; nothing: none is published. By line: "1.36" of Kubernetes.
using Lines = std::map<base::Version, std::optional<base::Day>>;

/// The release lines by component: end-of-life.csv.
[[nodiscard]] base::Result<std::map<std::string, Lines>> read_lines(
    const std::function<base::Result<std::string>(std::string_view path)>& asset);

/// Whether the line of a version gets fixes on a day.
struct LineState {
  enum class State { unknown, maintained, ended } state = State::unknown;
  std::string text;  ///< "1.36 gets fixes until 2027-06-28"
};
/// A line that is not listed has ended if the next newer one has.
[[nodiscard]] LineState state_of_line(const Lines& lines, const base::Version& version, base::Day day);

}  // namespace checks
