#include "transport/sudo.hpp"

#include <fmt/format.h>

namespace transport {

Root first_root(const Session& session, const std::string& user) {
  if (user == "root") return Root::is_login;
  return session.options.sudo == spec::SudoPolicy::never ? Root::forbidden : Root::ask;
}

namespace {
constexpr std::string_view what = " for sudo";
}

Result<> answer_sudo(Session& session, Dialogue& dialogue, const Peer& peer) {
  forget_rejected(session, dialogue, peer);
  if (dialogue.failure()) return std::unexpected(*dialogue.failure());
  if (!dialogue.wants_password()) return {};
  auto password = session.options.sudo_password;
  if (!password) password = session.ask_password(peer.user, peer.host, what);
  if (!password)
    return base::fail(
        base::Fault::auth,
        fmt::format("{}: sudo requires the password of {}, and there is no terminal for the prompt",
                    peer.host, peer.user),
        fmt::format("run gpuadm in a terminal, add --sudo-password-file FILE, or allow it with "
                    "`visudo`: {} ALL=(ALL) NOPASSWD: ALL",
                    peer.user));
  dialogue.give(*password);
  return {};
}

void forget_rejected(Session& session, const Dialogue& dialogue, const Peer& peer) {
  if (dialogue.rejected()) session.forget_password(peer.user, peer.host, what, dialogue.given());
}

}  // namespace transport
