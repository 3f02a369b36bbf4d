#pragma once

#include "gpuadm/facts/redact.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace session {

/// Input of the doctor without hosts: docs/reference/recordings.md.
struct Recording {
  spec::Cluster cluster;
  Survey survey;
  std::optional<std::string> view;  ///< output of a control-plane node: docs/reference/cluster.md
};

/// Knows every name in a recording that must be replaced.
[[nodiscard]] facts::Redactor redactor_for(const Recording& recording);

/// Writes a recording, with names of machines, networks and people replaced and secrets removed. Fault::usage
/// if the directory is not empty.
[[nodiscard]] Result<> save_recording(const std::filesystem::path& folder, const Recording& recording,
                                      facts::Redactor redact);

/// The text of one file of a recording, by its path in it.
using ReadFile = std::function<Result<std::string>(const std::string& file)>;

/// Reads a recording from any source of files; `place` is its name in errors. `over` may have `cluster`,
/// merged into the cluster file, and `hosts`, merged into those of recording.yaml; the entries of a host
/// there edit its probe as facts::edited does. A fault of one host is in the census; faults of the recording,
/// and of `over`, are the error.
[[nodiscard]] Result<Recording> read_recording(const ReadFile& read, const std::string& place,
                                               const base::Tree& over = {}, Texts texts = Texts::dropped);

/// Reads a recording, or a directory with only a probe.txt: one host with the directory's name. Fault::usage
/// if it is neither.
[[nodiscard]] Result<Recording> load_recording(const std::filesystem::path& folder,
                                               Texts texts = Texts::dropped);

}  // namespace session
