#pragma once

#include "gpuadm/facts/facts.hpp"

#include "facts/sections/sections.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace facts {

/// What is known of a section of the probe, so that one that is missing or has other content than its source
/// prints is told from one that has nothing to say.
struct SectionForm {
  std::string_view name;  ///< with a star at the end: every section that begins so
  /// Whether the probe prints it on a host like this; nullptr: a missing one means that there is no such
  /// thing.
  bool (*is_due)(const Sections& sections, const Facts& facts);
  /// Whether a line looks like one of its source's; nullptr: any text may stand there.
  bool (*fits)(std::string_view line);
  enum class Lines { some, all } which;  ///< of them that must fit; empty lines are not counted
  /// What the program behind it must have ended with; none: there is no program. What one says that failed
  /// need not be in the form, but where its status is no error.
  enum class Status { none, any, zero, no_error } status;
};

/// Of playbooks/probe.sh, and of playbooks/cluster.sh.
[[nodiscard]] std::span<const SectionForm> section_forms();
[[nodiscard]] std::span<const SectionForm> cluster_forms();

/// The sections that are there and could not be read, by name, and why.
[[nodiscard]] std::map<std::string, std::string> unread_of(const Sections& sections,
                                                           std::span<const SectionForm> forms);

}  // namespace facts
