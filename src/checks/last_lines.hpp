#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The last words of a program: which line of its log says why it ended, and what gpuadm knows of it. A line
/// that gpuadm does not know is quoted like any other.
namespace checks {

/// A message of a program: its cause, empty if the message says it, and what to type.
struct KnownLine {
  std::string_view part;  ///< of the line in lower case, without backslashes
  std::string_view cause, remedy;
  std::string_view check = {};  ///< that judges the cause on the host; empty: none does
};

struct LastLine {
  std::string line;                  ///< as the program wrote it
  const KnownLine* known = nullptr;  ///< nothing: gpuadm does not know it
  /// The cause, or the line without its prefix.
  [[nodiscard]] std::string message() const;
  /// "WHERE: LINE", and that gpuadm does not know it.
  [[nodiscard]] std::string evidence(std::string_view where) const;
  [[nodiscard]] std::string remedy(std::string_view otherwise) const;
  /// KnownLine::check
  [[nodiscard]] std::string_view check() const { return known ? known->check : std::string_view(); }
};

/// How relevant a line of a log is for why the program ended; 0: not at all.
[[nodiscard]] int weight(std::string_view line);

/// The newest line that one of the rows is about, the first row first, then one of common_lines; otherwise
/// the newest of those that weigh most. Nothing: the log has no line but those of systemd.
[[nodiscard]] std::optional<LastLine> last_line(std::span<const std::string> log,
                                                std::span<const KnownLine> known);
/// Only a line that is known.
[[nodiscard]] std::optional<LastLine> known_line(std::span<const std::string> log,
                                                 std::span<const KnownLine> known);
/// What is known of a line, by these rows or by common_lines; nullptr: nothing.
[[nodiscard]] const KnownLine* known_of(std::string_view line, std::span<const KnownLine> known);

/// Messages of any program.
[[nodiscard]] std::span<const KnownLine> common_lines();
/// Messages of the kubelet, of NVIDIA's daemons, of its device plugin and DRA driver.
[[nodiscard]] std::span<const KnownLine> kubelet_lines();
[[nodiscard]] std::span<const KnownLine> unit_lines();
[[nodiscard]] std::span<const KnownLine> plugin_lines();
/// Messages of the kubelet, the container runtime and system pods about a pod.
[[nodiscard]] std::span<const KnownLine> pod_lines();

}  // namespace checks
