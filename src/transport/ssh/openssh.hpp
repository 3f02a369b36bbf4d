#pragma once

#include "transport/session.hpp"

namespace transport {

/// One host through the system's OpenSSH client: a child a command, over a master connection of ours that
/// ends with the transport (or by itself a minute after a crash). Keys only: it cannot ask.
[[nodiscard]] std::unique_ptr<Transport> openssh(Session& session, const std::string& host,
                                                 const spec::Endpoint& endpoint);

}  // namespace transport
