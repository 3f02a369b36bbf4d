#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

/// Formats that many sections share.
namespace facts {

/// The value, if any: `N/A`, `[Not Supported]` and similar mean no data.
[[nodiscard]] std::optional<std::string> known(std::string_view value);

/// Whether a value means that the property does not exist, not that it could not be read.
[[nodiscard]] bool is_absent(std::string_view value);

/// "name key=value key=value": the pairs after the first word.
[[nodiscard]] std::map<std::string, std::string, std::less<>> pairs(std::string_view line);

/// NAME=value or NAME="value" lines as in shell and systemd files, without comments.
[[nodiscard]] std::map<std::string, std::string> assignments(std::string_view text);

/// The first word that begins with a digit, or with v and a digit: the version in "containerd x v2.1.4 abc".
[[nodiscard]] std::optional<std::string> version_in(std::string_view line);

/// The number, or nothing if it is invalid or negative.
[[nodiscard]] std::optional<std::uint64_t> count(std::string_view text);

/// A PCI address in sysfs notation: "00000000:00:06.0" and "0000:00:06.0" are the same.
[[nodiscard]] std::string slot_of(std::string_view bus_id);

/// http_proxy and similar variables that are not empty.
[[nodiscard]] std::map<std::string, std::string> proxies_of(std::map<std::string, std::string> environment);

/// The NUMA node of a PCI device; -1: not set by the firmware.
[[nodiscard]] std::optional<int> numa_node(std::string_view value);

}  // namespace facts
