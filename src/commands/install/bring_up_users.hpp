#pragma once

#include "commands/install/bring_up_stages.hpp"
#include "commands/operate/user/described.hpp"

/// The users of a cluster file, in a run of init, apply or diff: after all steps, because they need the API.
namespace commands {

/// The phase of their events.
inline constexpr const char *users_phase = "users",
                            *users_title = "Add the users of the cluster file, and set their quotas";

class UsersStage {
 public:
  /// `run` must outlive it.
  explicit UsersStage(const BringUpRun& run);
  /// Whether the run is about users: its cluster file lists some, and no phases are selected. Users of a
  /// stored cluster file are not made: a user who was removed would get rights again, and a host must not
  /// decide who has rights.
  [[nodiscard]] bool is_chosen() const { return chosen_; }
  /// Compares the users, and reports what is needed. The number of changes; for diff also of users that the
  /// file does not list. An API server that cannot be read is an error in a preview; before an apply, which
  /// may repair it, it is a note. Errors: see compare_users.
  [[nodiscard]] Result<int> preview(report::Reporter& reporter);
  /// Compares them again, and makes them. Outcome::failed if a user could not be made: it is reported, and
  /// the others were not begun.
  [[nodiscard]] Result<Outcome> apply(report::Reporter& reporter, Io& io);

 private:
  [[nodiscard]] Result<DescribedUsers> compare();
  [[nodiscard]] report::Event event_of(const std::string& user, report::Did did,
                                       const std::string& detail) const;
  [[nodiscard]] Result<Outcome> failed(const std::string& user, const base::Error& error,
                                       report::Reporter& reporter) const;
  const BringUpRun& run_;
  UserTarget target_;
  std::string host_;  ///< of events
  bool chosen_;
};

}  // namespace commands
