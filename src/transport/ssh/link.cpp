#include "transport/ssh/link.hpp"

#include "gpuadm/base/text.hpp"

#include "transport/ssh/state.hpp"

#include <fmt/format.h>

#include <sys/socket.h>

#include <array>

namespace transport {

namespace {
using base::Fault;
using namespace std::chrono_literals;

constexpr int most_attempts = 5;       // at a server too busy to greet (sshd's MaxStartups)
constexpr auto pause_between = 300ms;  // times the attempt
constexpr auto least_for_an_address = 2s;
}  // namespace

Link::Link(Session& session, std::string host, spec::Endpoint endpoint)
    : session_(session),
      host_(std::move(host)),
      endpoint_(std::move(endpoint)),
      question_{endpoint_.address, endpoint_.user, endpoint_.port},
      peer_{host_, endpoint_.user, ""} {}

void Link::begin() {
  if (phase_ != Phase::idle) return;
  phase_ = Phase::config;
  attempts_ = 0;
  unserved_.reset();
  host_key_.reset();
  config_.reset();
  deadline_ = session_.now() + session_.options.connect_timeout;
}

Result<bool> Link::advance() {
  turn();
  auto done = proceed();
  if (done) return done;
  close();
  base::Error error = std::move(done).error();
  if (!error.what.starts_with(host_ + ": ")) error.what = host_ + ": " + error.what;
  return std::unexpected(std::move(error));
}

Result<bool> Link::proceed() {
  while (phase_ != Phase::ready) {
    if (session_.now() >= deadline_) return std::unexpected(too_late());
    Result<bool> moved = false;
    switch (phase_) {
      case Phase::idle:
        return base::fail(Fault::bug, "not started");
      case Phase::pause:
        if (session_.now() < pause_until_) return false;
        phase_ = Phase::dial;
        moved = true;
        break;
      case Phase::config:
        moved = ask_config();
        break;
      case Phase::dial:
        moved = dial();
        break;
      case Phase::handshake:
        moved = shake_hands();
        break;
      case Phase::login:
        moved = log_in();
        break;
      case Phase::ready:
        break;
    }
    if (!moved || !*moved) return moved;
  }
  return true;
}

Result<bool> Link::ask_config() {
  if (!config_) {
    auto answer = TRY(session_.ssh->configs.ask(question_));
    if (!answer) return false;
    config_ = std::move(*answer);
    if (auto why = transport::unserved(*config_, endpoint_.address))
      return needs_openssh(Fault::host_key, std::move(*why));
    jump_ = jump_of(*config_, endpoint_.address);
  }
  if (jump_) {
    const auto answer = TRY(session_.ssh->configs.ask(*jump_));
    if (!answer) return false;
    config_->jump_is_strict = answer->strict;
  }
  peer_.user = config_->user;
  peer_.login = fmt::format("ssh -p {} {}@{}", config_->port, config_->user, endpoint_.address);
  host_key_.emplace(session_, host_, *config_, endpoint_.address, endpoint_.host_key);
  if (auto why = host_key_->unserved()) return needs_openssh(Fault::host_key, std::move(*why));
  phase_ = Phase::dial;
  return true;
}

Result<bool> Link::dial() {
  const auto time_for_an_address =
      std::max<base::Clock::duration>(session_.options.connect_timeout / 3, least_for_an_address);
  if (!dial_) {
    dial_.emplace(config_->host_name, config_->port, proxy_of(*config_, endpoint_.address, session_.options),
                  static_cast<int>(session_.options.keep_alive.count()), config_->family);
    address_deadline_ = session_.now() + time_for_an_address;
  }
  if (session_.now() >= address_deadline_ && dial_->try_next())
    address_deadline_ = session_.now() + time_for_an_address;
  if (!TRY(dial_->advance())) return false;
  hooks_ = Hooks{};
  turn();
  handle_ = make_handle(hooks_);
  if (!handle_) return base::fail(Fault::bug, "out of memory");
  const Algorithms& ours = host_key_->algorithms();
  const std::array wanted =
      std::to_array<std::pair<int, const std::string*>>({{LIBSSH2_METHOD_KEX, &ours.key_exchange},
                                                         {LIBSSH2_METHOD_HOSTKEY, &ours.host_keys},
                                                         {LIBSSH2_METHOD_CRYPT_CS, &ours.ciphers},
                                                         {LIBSSH2_METHOD_CRYPT_SC, &ours.ciphers},
                                                         {LIBSSH2_METHOD_MAC_CS, &ours.macs},
                                                         {LIBSSH2_METHOD_MAC_SC, &ours.macs}});
  for (const auto& [kind, names] : wanted)
    if (::libssh2_session_method_pref(handle_.get(), kind, names->c_str()) != 0)
      return base::fail(Fault::bug, fmt::format("libssh2 rejects {}", *names));
  phase_ = Phase::handshake;
  return true;
}

Result<bool> Link::shake_hands() {
  const int code = ::libssh2_session_handshake(handle_.get(), dial_->descriptor());
  if (code == LIBSSH2_ERROR_EAGAIN) return false;
  if (code != 0) return handshake_failed(code);
  hooks_.greeted = true;
  TRY(check_host_key());
  auto offer = TRY(session_.ssh->keys.offer(*config_, endpoint_.address, endpoint_.identity_file));
  login_.emplace(session_, handle_.get(), host_, *config_, std::move(offer));
  hooks_.login = &*login_;
  phase_ = Phase::login;
  return true;
}

Result<> Link::check_host_key() {
  std::size_t size = 0;
  int type = 0;
  const char* blob = ::libssh2_session_hostkey(handle_.get(), &size, &type);
  if (!blob) return base::fail(Fault::host_key, "the host has no host key");
  return host_key_->verify({blob, size}, dial_->address());
}

Result<bool> Link::handshake_failed(int code) {
  const bool greeted = hooks_.first.starts_with("SSH-");
  const bool busy = hooks_.received == 0 || hooks_.first.starts_with("Exceeded MaxStartups");
  const std::string proxy = dial_->proxy_message();
  if (busy && proxy.empty() && ++attempts_ < most_attempts) {
    pause_until_ = session_.now() + pause_between * attempts_;
    drop();
    phase_ = Phase::pause;
    return true;
  }
  if (busy)
    return base::fail(
        Fault::unreachable,
        fmt::format("{} closes the connection without a greeting{}", dial_->peer(),
                    proxy.empty() ? "" : ": " + proxy),
        dial_->is_proxy()
            ? "try manually: " + peer_.login
            : "sshd there may be overloaded (MaxStartups), or refuse this address (fail2ban, a firewall)");
  if (!greeted)
    return base::fail(Fault::unreachable,
                      fmt::format("{} does not speak SSH; it says: {}", dial_->peer(),
                                  base::printable(base::trim(hooks_.first), 200)),
                      "check the port");
  if (code == LIBSSH2_ERROR_SOCKET_DISCONNECT || code == LIBSSH2_ERROR_SOCKET_RECV ||
      code == LIBSSH2_ERROR_SOCKET_SEND)
    return std::unexpected(lost("during the handshake"));
  char* message = nullptr;
  ::libssh2_session_last_error(handle_.get(), &message, nullptr, 0);
  return needs_openssh(Fault::unreachable,
                       fmt::format("libssh2 {} and its server have no algorithms in common ({})",
                                   ::libssh2_version(0), message ? message : ""));
}

std::unexpected<base::Error> Link::needs_openssh(Fault fault, std::string why) {
  if (!may_move()) return base::fail(fault, std::move(why), "use the OpenSSH client: --ssh-client openssh");
  unserved_ = why;
  return base::fail(fault, std::move(why));
}

Result<bool> Link::log_in() {
  auto done = login_->advance();
  if (!done && done.error().fault == Fault::unreachable) return std::unexpected(lost("during the login"));
  if (!done) {
    if (may_move()) unserved_ = login_->unserved();
    return done;
  }
  if (!*done) return false;
  by_key_ = login_->by_key();
  login_.reset();
  hooks_.login = nullptr;
  phase_ = Phase::ready;
  return true;
}

base::Error Link::lost(const std::string& doing) {
  const std::string proxy = dial_ ? dial_->proxy_message() : "";
  std::string words = base::printable(hooks_.goodbye, 300);
  if (!proxy.empty()) words += (words.empty() ? "" : "; ") + proxy;
  if (words.empty()) words = hooks_.broke;
  if (words.empty() && handle_) {
    char* message = nullptr;
    ::libssh2_session_last_error(handle_.get(), &message, nullptr, 0);
    if (message) words = base::printable(message, 300);
  }
  return {Fault::unreachable,
          fmt::format("{}: the connection to {} was lost {}{}", host_, dial_ ? dial_->peer() : "it", doing,
                      words.empty() ? "" : ": " + words),
          hooks_.goodbye.find("authentication") != std::string::npos
              ? "too many keys were offered: set the right one with identityFile, or set IdentitiesOnly in "
                "~/.ssh/config"
              : "check that the host is up, and run again: completed steps are skipped"};
}

base::Error Link::too_late() const {
  const std::string limit =
      base::human_seconds(static_cast<double>(session_.options.connect_timeout.count()));
  const std::string peer = dial_ ? dial_->peer() : endpoint_.address;
  switch (phase_) {
    case Phase::config:
      return {Fault::unreachable, fmt::format("`ssh -G` did not answer within {}", limit),
              "try: ssh -G " + endpoint_.address};
    case Phase::handshake:
      return {
          Fault::unreachable,
          fmt::format("{} accepts connections but did not finish the SSH handshake within {}", peer, limit),
          "check the port and the load of the host; " + peer_.login};
    case Phase::login:
      return {Fault::unreachable, fmt::format("{} did not answer the login within {}", peer, limit),
              "try manually: " + peer_.login};
    default:
      if (dial_ && dial_->is_resolving())
        return {Fault::unreachable,
                fmt::format("the name “{}” was not resolved within {}", config_->host_name, limit),
                "check the name and this machine's name servers, or use the address"};
      return {Fault::unreachable, fmt::format("{} does not answer within {}", peer, limit),
              "check that the host is up and that no firewall drops the packets"};
  }
}

void Link::interests(std::vector<pollfd>& into) const {
  if (phase_ == Phase::config) session_.ssh->configs.interests(asked(), into);
  if (phase_ == Phase::dial && dial_) dial_->interests(into);
  if (!handle_) return;
  into.push_back({dial_->descriptor(), static_cast<short>(is_blocked() ? POLLIN | POLLOUT : POLLIN), 0});
}

bool Link::is_blocked() const {
  return (::libssh2_session_block_directions(handle_.get()) & LIBSSH2_SESSION_BLOCK_OUTBOUND) != 0;
}

bool Link::can_buffer() const {
  pollfd socket{dial_->descriptor(), POLLOUT, 0};
  return ::poll(&socket, 1, 0) == 1 && (socket.revents & POLLOUT) != 0;
}

std::optional<base::Instant> Link::wake() const {
  if (phase_ == Phase::idle || phase_ == Phase::ready) return std::nullopt;
  if (phase_ == Phase::config && session_.ssh->configs.ready(asked())) return base::Clock::now();
  base::Instant next = session_.real(deadline_);
  if (phase_ == Phase::pause) next = std::min(next, session_.real(pause_until_));
  if (phase_ == Phase::dial && dial_) {
    next = std::min(next, session_.real(address_deadline_));
    if (const auto dial_wake = dial_->wake()) next = std::min(next, *dial_wake);
  }
  return next;
}

void Link::turned() {
  if (ready() && std::exchange(hooks_.wrote, false)) dial_->acknowledge();
}

void Link::drop() {
  login_.reset();
  hooks_.login = nullptr;
  if (handle_) ::shutdown(dial_->descriptor(), SHUT_RDWR);
  handle_.reset();
  dial_.reset();
}

void Link::close() {
  if (phase_ == Phase::ready) {
    turn();
    ::libssh2_session_disconnect(handle_.get(), "bye");
  }
  drop();
  phase_ = Phase::idle;
}

}  // namespace transport
