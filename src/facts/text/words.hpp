#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

/// The small shapes that many sections share.
namespace facts {

/// The value where there is one: `N/A`, `[Not Supported]` and their like mean no data.
[[nodiscard]] std::optional<std::string> known(std::string_view value);

/// Whether a value says that there is no such thing, rather than that it could not be read.
[[nodiscard]] bool is_absent(std::string_view value);

/// "name key=value key=value": the pairs after the first word.
[[nodiscard]] std::map<std::string, std::string, std::less<>> pairs(std::string_view line);

/// NAME=value or NAME="value" lines as shell and systemd have them; comments are left out.
[[nodiscard]] std::map<std::string, std::string> assignments(std::string_view text);

/// The first word that begins with a digit, or with v and a digit: the version in "containerd x v2.1.4 abc".
[[nodiscard]] std::optional<std::string> version_in(std::string_view line);

/// The number, or nothing where it is none or negative.
[[nodiscard]] std::optional<std::uint64_t> count(std::string_view text);

/// A PCI address as sysfs writes it: "00000000:00:06.0" and "0000:00:06.0" are the same.
[[nodiscard]] std::string slot_of(std::string_view bus_id);

/// http_proxy and its like, where they have a value.
[[nodiscard]] std::map<std::string, std::string> proxies_of(std::map<std::string, std::string> environment);

/// The NUMA node of a PCI device; -1: the firmware names none.
[[nodiscard]] std::optional<int> numa_node(std::string_view value);

}  // namespace facts
