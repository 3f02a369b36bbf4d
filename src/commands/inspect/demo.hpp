#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/checks/checks.hpp"
#include "gpuadm/session/recording.hpp"

#include "commands/command.hpp"

#include <string>
#include <vector>

namespace commands {

/// A fault of data/faults/: a healthy machine, the edits of its output, and the first line of the report
/// (data/faults/README.md).
struct Demo {
  std::string name, title;
  std::string machine;  ///< a recording in data/recordings
  checks::Stage stage = checks::Stage::node;
  std::string leads;                       ///< id of the first broken link
  std::vector<std::string> folds, beside;  ///< ids that follow from it, and unrelated ones
  base::Tree hosts;    ///< by host: the edits for facts::edited, or settings of recording.yaml
  base::Tree cluster;  ///< merged into the cluster file
};

/// All faults, sorted by file and position. Fault::parse for errors in a file.
[[nodiscard]] Result<std::vector<Demo>> demos(const assets::Store& assets);

/// The machine with the fault.
[[nodiscard]] Result<session::ClusterSurvey> recording_of(const Demo& demo, const assets::Store& assets);

}  // namespace commands
