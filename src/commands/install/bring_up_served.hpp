#pragma once

#include "commands/install/bring_up_listed.hpp"
#include "commands/workloads/serve/described.hpp"

/// The served models of a cluster file, in a run of init, apply or diff.
namespace commands {

class ServeStage : public ListedStage {
 public:
  /// `run` and `io` must outlive it.
  ServeStage(const BringUpRun& run, Io& io);
  /// Compares them, and reports what is needed. The number of changes. Errors: check_described; in a preview
  /// also those of compare_models, which before an apply are a note and count as one change, because it may
  /// repair their cause.
  [[nodiscard]] Result<int> preview(report::Reporter& reporter);
  /// Compares them again, and makes them, one after another. Outcome::failed if one could not be made: it is
  /// reported, and the others were not begun.
  [[nodiscard]] Result<Outcome> apply(report::Reporter& reporter);

 private:
  Io& io_;
};

}  // namespace commands
