#pragma once

#include "gpuadm/facts/redact.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "app/census.hpp"

#include <filesystem>

namespace app {

/// What a doctor needs to judge without a host: docs/reference/recordings.md.
struct Recording {
  spec::Cluster cluster;
  Seen seen;
  std::optional<std::string> view;  ///< what a control plane said: docs/reference/cluster.md
};

/// Knows every name in a recording that must not stay.
[[nodiscard]] facts::Redactor redactor_for(const Recording& recording);

/// Writes what was seen, with what names machines, networks and people replaced and secrets taken out.
/// Fault::usage where the folder has something in it.
[[nodiscard]] Result<> save_recording(const std::filesystem::path& folder, const Recording& recording,
                                      facts::Redactor redact);

/// Reads a recording, or a folder with nothing but a probe.txt: one host of the folder's name. Fault::usage
/// where it is neither.
[[nodiscard]] Result<Recording> load_recording(const std::filesystem::path& folder,
                                               Texts texts = Texts::dropped);

}  // namespace app
