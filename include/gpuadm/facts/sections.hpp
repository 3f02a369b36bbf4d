#pragma once

#include "gpuadm/base/error.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace facts {

/// One section of probe output. Views point into the text that was split.
struct Section {
  std::vector<std::string_view> lines;
  std::optional<int> status;  ///< exit status of the program behind it
  bool cut = false;
  bool damaged = false;  ///< it has invalid bytes, or lines in another format than the probe prints
  /// The lines as one text again.
  [[nodiscard]] std::string text() const;
  /// The first line, trimmed; empty if there is none.
  [[nodiscard]] std::string first() const;
};

/// Probe output by section name; format: docs/reference/probe.md.
class Sections {
 public:
  /// The text must outlive the sections. Fault::parse if it is not probe output or is truncated.
  [[nodiscard]] static base::Result<Sections> split(std::string_view text);

  [[nodiscard]] const Section* find(std::string_view name) const;
  /// The first line of a section, trimmed, or nothing if the section is missing.
  [[nodiscard]] std::optional<std::string> first(std::string_view name) const;
  /// The whole text of a section, or nothing if the section is missing.
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
  /// The lines of a section; none if it is missing.
  [[nodiscard]] const std::vector<std::string_view>& lines(std::string_view name) const;
  [[nodiscard]] const std::map<std::string, Section, std::less<>>& all() const { return sections_; }
  /// "path value" lines of a section, as the probe prints files of /sys and /proc.
  [[nodiscard]] std::vector<std::pair<std::string_view, std::string_view>> values(
      std::string_view name) const;
  /// Every section with this prefix and suffix.
  void each(std::string_view prefix, std::string_view suffix,
            const std::function<void(const std::string& name, const Section&)>& visit) const;

  std::string noise;  ///< the text before the first line
  bool torn = false;  ///< a section may have lost its header, so that a missing section is inconclusive

 private:
  std::map<std::string, Section, std::less<>> sections_;
};

}  // namespace facts
