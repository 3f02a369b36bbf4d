#pragma once

#include "transport/dialogue.hpp"
#include "transport/session.hpp"

namespace transport {

/// How a first command becomes root for a login user under the session's policy.
[[nodiscard]] Root first_root(const Session& session, const std::string& user);

/// Sends sudo its password when it waits for one: prompted for once per run, discarded if sudo rejects it.
/// Returns the dialogue's failure, if any.
[[nodiscard]] Result<> answer_sudo(Session& session, Dialogue& dialogue, const Peer& peer);

/// Discards the password if sudo has rejected it; for use after Dialogue::end().
void forget_rejected(Session& session, const Dialogue& dialogue, const Peer& peer);

}  // namespace transport
