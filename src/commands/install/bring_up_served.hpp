#pragma once

#include "commands/install/bring_up_stages.hpp"
#include "commands/workloads/serve/described.hpp"

/// The served models of a cluster file, in a run of init, apply or diff: after all steps and the users,
/// because they need the API.
namespace commands {

/// The phase of their events.
inline constexpr const char *serve_phase = "serve", *serve_title = "Serve the models of the cluster file";

class ServeStage {
 public:
  /// `run` and `io` must outlive it.
  ServeStage(const BringUpRun& run, Io& io);
  /// Whether the run is about served models: its cluster file lists some, and no phases are selected.
  [[nodiscard]] bool is_chosen() const { return chosen_; }
  /// Compares them, and reports what is needed. The number of changes. Errors: check_described; in a preview
  /// also those of compare_models, which before an apply are a note, because it may repair their cause.
  [[nodiscard]] Result<int> preview(report::Reporter& reporter);
  /// Compares them again, and makes them, one after another. Outcome::failed if one could not be made: it is
  /// reported, and the others were not begun.
  [[nodiscard]] Result<Outcome> apply(report::Reporter& reporter);

 private:
  [[nodiscard]] report::Event event_of(const spec::Served& served, report::Did did,
                                       const std::string& detail) const;
  const BringUpRun& run_;
  Io& io_;
  std::string host_;  ///< of events
  bool chosen_;
};

}  // namespace commands
