#pragma once

#include "commands/install/bring_up_listed.hpp"
#include "commands/operate/user/described.hpp"

/// The users of a cluster file, in a run of init, apply or diff. Those of a stored cluster file are not made:
/// a user who was removed would get rights again, and a host must not decide who has rights.
namespace commands {

class UsersStage : public ListedStage {
 public:
  /// `run` must outlive it.
  explicit UsersStage(const BringUpRun& run);
  /// Compares the users, and reports what is needed. The number of changes; for diff also of users that the
  /// file does not list. An API server that cannot be read is an error in a preview; before an apply, which
  /// may repair it, it is a note and counts as one change. Errors: see compare_users.
  [[nodiscard]] Result<int> preview(report::Reporter& reporter);
  /// Compares them again, and makes them. Outcome::failed if a user could not be made: it is reported, and
  /// the others were not begun.
  [[nodiscard]] Result<Outcome> apply(report::Reporter& reporter, Io& io);

 private:
  [[nodiscard]] Result<DescribedUsers> compare();
  UserTarget target_;
};

}  // namespace commands
