#pragma once

#include "gpuadm/facts/facts.hpp"
#include "gpuadm/facts/sections.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace facts {

/// Expected format of a section of the probe, to distinguish a missing or invalid section from an empty one.
struct SectionForm {
  std::string_view name;  ///< with a star at the end: a prefix
  /// Whether the probe prints it on such a host; nullptr: if it is missing, the object does not exist.
  bool (*is_due)(const Sections& sections, const Facts& facts);
  /// Whether a line has the format of its source; nullptr: any text.
  bool (*fits)(std::string_view line);
  enum class Lines { some, all } which;  ///< number of lines that must match; empty lines are ignored
  /// Allowed exit status of the program; none: there is no program. The output of a failed one need not
  /// match, unless its status is not an error.
  enum class Status { none, any, zero, no_error } status;
};

/// Of playbooks/probe.sh, and of playbooks/cluster.sh.
[[nodiscard]] std::span<const SectionForm> section_forms();
[[nodiscard]] std::span<const SectionForm> cluster_forms();

/// The existing sections that could not be read, by name, with the reason.
[[nodiscard]] std::map<std::string, std::string> unread_of(const Sections& sections,
                                                           std::span<const SectionForm> forms);

}  // namespace facts
