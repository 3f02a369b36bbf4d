#pragma once

#include "gpuadm/app/app.hpp"
#include "gpuadm/assets/assets.hpp"
#include "gpuadm/checks/checks.hpp"
#include "gpuadm/session/recording.hpp"

#include <string>
#include <vector>

namespace app {

/// A fault as data/faults/ has it: a machine that is well, what the fault changes in what it says, and what a
/// report on it must begin with (data/faults/README.md).
struct Demo {
  std::string name, title;
  std::string machine;  ///< a recording in data/recordings
  checks::Stage stage = checks::Stage::node;
  std::string leads;                       ///< id of the first broken link
  std::vector<std::string> folds, beside;  ///< ids that follow from it, and that stand on their own
  base::Tree hosts;                        ///< by host: what facts::edited takes, or of recording.yaml
  base::Tree cluster;                      ///< laid over the cluster file
};

/// Every fault, sorted by file and as they stand in it. Fault::parse names what is wrong with a file.
[[nodiscard]] Result<std::vector<Demo>> demos(const assets::Store& assets);

/// The machine with the fault.
[[nodiscard]] Result<session::Recording> recording_of(const Demo& demo, const assets::Store& assets);

}  // namespace app
