#pragma once

#include "transport/dialogue.hpp"
#include "transport/session.hpp"

namespace transport {

/// How a first command becomes root for a login user under the session's policy.
[[nodiscard]] Root first_root(const Session& session, const std::string& user);

/// Gives sudo its password where it waits for one: asked once a run, forgotten where sudo refused it. The
/// dialogue's failure, where there is one.
[[nodiscard]] Result<> answer_sudo(Session& session, Dialogue& dialogue, const Peer& peer);

}  // namespace transport
