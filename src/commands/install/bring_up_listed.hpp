#pragma once

#include "commands/install/bring_up_stages.hpp"

#include <string>
#include <string_view>

namespace commands {

/// The phases of such stages, and their titles, in their order.
inline constexpr const char *users_phase = "users",
                            *users_title = "Add the users of the cluster file, and set their quotas";
inline constexpr const char *serve_phase = "serve", *serve_title = "Serve the models of the cluster file";
/// Whether a phase is one of them: it changes the cluster, and no host.
[[nodiscard]] bool is_listed_phase(std::string_view phase);

/// A stage for objects that only a cluster file lists, such as users: in a run of init, apply or diff, after
/// all steps, because it needs the API.
class ListedStage {
 public:
  /// Whether the run is about them: its cluster file lists some, and no phases are selected.
  [[nodiscard]] bool is_chosen() const { return chosen_; }

 protected:
  /// `run`, `phase` and `title` must outlive it. `lists_some`: the cluster file does.
  ListedStage(const BringUpRun& run, const char* phase, const char* title, bool lists_some);
  [[nodiscard]] const BringUpRun& run() const { return run_; }
  [[nodiscard]] report::Event begins() const;
  /// `step`: of one object; empty: of all.
  [[nodiscard]] report::Event event_of(const std::string& step, report::Did did,
                                       const std::string& detail) const;
  /// Reports what failed, and returns Outcome::failed: hosts may have changed before, so that no fault may
  /// mean that nothing was changed. Fault::interrupted is returned.
  [[nodiscard]] Result<Outcome> failed(const std::string& step, const base::Error& error,
                                       report::Reporter& reporter) const;

 private:
  const BringUpRun& run_;
  const char *phase_, *title_;
  std::string host_;  ///< of events
  bool chosen_;
};

}  // namespace commands
