#pragma once

#include "gpuadm/facts/redact.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace session {

/// What a doctor needs to judge without a host: docs/reference/recordings.md.
struct Recording {
  spec::Cluster cluster;
  Survey survey;
  std::optional<std::string> view;  ///< what a control plane said: docs/reference/cluster.md
};

/// Knows every name in a recording that must not stay.
[[nodiscard]] facts::Redactor redactor_for(const Recording& recording);

/// Writes what was seen, with what names machines, networks and people replaced and secrets taken out.
/// Fault::usage where the folder has something in it.
[[nodiscard]] Result<> save_recording(const std::filesystem::path& folder, const Recording& recording,
                                      facts::Redactor redact);

/// The text of one file of a recording, by its path in it.
using ReadFile = std::function<Result<std::string>(const std::string& file)>;

/// Reads a recording from wherever its files lie; `place` is said in errors. `over` may have `cluster`, laid
/// over the cluster file, and `hosts`, laid over those of recording.yaml; what stands under a host there
/// changes its probe as facts::edited does. A fault of one host is in the census; those of the recording,
/// and of `over`, are the error.
[[nodiscard]] Result<Recording> read_recording(const ReadFile& read, const std::string& place,
                                               const base::Tree& over = {}, Texts texts = Texts::dropped);

/// Reads a recording, or a folder with nothing but a probe.txt: one host of the folder's name. Fault::usage
/// where it is neither.
[[nodiscard]] Result<Recording> load_recording(const std::filesystem::path& folder,
                                               Texts texts = Texts::dropped);

}  // namespace session
