#pragma once

#include "transport/session.hpp"

namespace transport {

/// One host through the system's OpenSSH client: one child process per command, over a master connection that
/// ends with the transport (or by itself a minute after a crash). Keys only: it has no prompts.
[[nodiscard]] std::unique_ptr<Transport> openssh(Session& session, const std::string& host,
                                                 const spec::Endpoint& endpoint);

}  // namespace transport
