#include "transport/ssh/login.hpp"

#include "gpuadm/base/text.hpp"

#include "transport/ssh/hooks.hpp"
#include "transport/ssh/keys/bytes.hpp"
#include "transport/ssh/state.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace transport {

namespace {
using base::Fault;
constexpr int most_password_tries = 3;

// libssh2 calls free() on strings from a callback.
char* copy(std::string_view text) {
  char* bytes = static_cast<char*>(std::malloc(text.size() + 1));
  if (bytes) std::memcpy(bytes, text.data(), text.size());
  return bytes;
}

struct Offered {
  const Identity& identity;
  std::string problem;
};

int sign_for_libssh2(LIBSSH2_SESSION*, unsigned char** signature, size_t* size, const unsigned char* data,
                     size_t length, void** abstract) {
  auto& offered = *static_cast<Offered*>(*abstract);
  const auto made = offered.identity.sign({reinterpret_cast<const char*>(data), length});
  if (!made) {
    offered.problem = made.error().what;
    return -1;
  }
  *signature = reinterpret_cast<unsigned char*>(copy(*made));
  *size = made->size();
  return *signature ? 0 : -1;
}

void answer_for_libssh2(const char*, int, const char*, int, int count,
                        const LIBSSH2_USERAUTH_KBDINT_PROMPT* prompts,
                        LIBSSH2_USERAUTH_KBDINT_RESPONSE* responses, void** hooks) {
  Login& login = *static_cast<Hooks*>(*hooks)->login;
  for (int i = 0; i < count; ++i) {
    // unsigned since libssh2 1.11.
    const std::string prompt(reinterpret_cast<const char*>(prompts[i].text), prompts[i].length);
    const std::string text = login.answer(prompt, prompts[i].echo != 0);
    responses[i].text = copy(text);
    responses[i].length = static_cast<unsigned>(text.size());
  }
}

bool hung_up(int code) {
  return code == LIBSSH2_ERROR_SOCKET_DISCONNECT || code == LIBSSH2_ERROR_SOCKET_RECV ||
         code == LIBSSH2_ERROR_SOCKET_SEND;
}

bool has_ticket() {
  if (const char* cache = std::getenv("KRB5CCNAME")) return *cache != '\0';
  return std::filesystem::exists(fmt::format("/tmp/krb5cc_{}", ::getuid()));
}
}  // namespace

Login::Login(Session& session, LIBSSH2_SESSION* handle, std::string host, const Config& config,
             KeyRing::Offer offer)
    : session_(session), handle_(handle), host_(std::move(host)), config_(config), offer_(std::move(offer)) {}

/// Whether the server accepts it and the operator's configuration allows it.
bool Login::may_try(std::string_view method) const {
  const auto offered = base::split(methods_, ',');
  return std::ranges::find(offered, method) != offered.end() && config_.allows(method);
}

int Login::password_tries() const {
  return std::min(most_password_tries, config_.password_prompts);
}

Result<bool> Login::advance() {
  while (true) {
    const Stage before = stage_;
    Result<bool> done = false;
    switch (stage_) {
      case Stage::keys:
        done = try_keys();
        break;
      case Stage::methods:
        done = ask_methods();
        break;
      case Stage::interactive:
        done = try_interactive();
        break;
      case Stage::password:
        done = try_password();
        break;
    }
    if (!done || *done || stage_ == before) return done;
  }
}

Result<bool> Login::try_keys() {
  while (next_key_ < offer_.identities.size() && config_.allows("publickey")) {
    const Identity& identity = offer_.identities[next_key_];
    Offered offered{identity, ""};
    void* abstract = &offered;
    const int code = ::libssh2_userauth_publickey(
        handle_, config_.user.c_str(), reinterpret_cast<const unsigned char*>(identity.blob.data()),
        identity.blob.size(), sign_for_libssh2, &abstract);
    if (code == LIBSSH2_ERROR_EAGAIN) return false;
    if (code == 0) {
      session_.ssh->keys.prefer(identity.blob);
      return true;
    }
    if (hung_up(code)) return base::fail(Fault::unreachable, "");
    tried_ += (tried_.empty() ? "" : ", ") + identity.label;
    if (!offered.problem.empty()) tried_ += " (" + offered.problem + ")";
    ++next_key_;
  }
  stage_ = Stage::methods;
  return false;
}

Result<bool> Login::ask_methods() {
  const char* methods =
      ::libssh2_userauth_list(handle_, config_.user.data(), static_cast<unsigned>(config_.user.size()));
  if (!methods) {
    if (::libssh2_userauth_authenticated(handle_) != 0) return true;
    if (::libssh2_session_last_errno(handle_) == LIBSSH2_ERROR_EAGAIN) return false;
    return base::fail(Fault::unreachable, "");
  }
  methods_ = base::printable(methods, 200);
  unserved_ = for_openssh();
  if (unserved_) return refused();
  stage_ = Stage::interactive;
  return false;
}

std::optional<std::string> Login::for_openssh() const {
  if (!offer_.left_out.empty()) return "libssh2 cannot offer the " + offer_.left_out.front();
  if (config_.gssapi && methods_.find("gssapi") != std::string::npos && config_.allows("gssapi-with-mic") &&
      has_ticket())
    return "libssh2 has no GSSAPI";
  if (config_.host_based && methods_.find("hostbased") != std::string::npos && config_.allows("hostbased"))
    return "gpuadm has no host-based authentication";
  const char* banner = ::libssh2_session_banner_get(handle_);
  const bool rsa = std::any_of(
      offer_.identities.begin(), offer_.identities.end(),
      [](const Identity& identity) { return Reader(identity.blob).string().starts_with("rsa-"); });
  if (rsa && ::libssh2_version(0x010b00) == nullptr && (!banner || !std::strstr(banner, "OpenSSH")))
    return fmt::format("libssh2 {} cannot offer an RSA key to this kind of server", ::libssh2_version(0));
  return std::nullopt;
}

bool Login::take_password() {
  password_ = session_.ask_password(config_.user, host_, "");
  return password_.has_value();
}

void Login::forget_password() {
  if (password_) session_.forget_password(config_.user, host_, "", *std::exchange(password_, std::nullopt));
}

std::string Login::answer(const std::string& prompt, bool shown) {
  prompted_ = true;
  if (!shown && base::lower(prompt).find("password") != std::string::npos) {
    if (take_password()) return password_->reveal();
  } else {
    const std::string key = "prompt of " + host_;
    const auto typed =
        session_.ask(key, fmt::format("{} asks: {} ", host_, base::trim(base::printable(prompt, 200))));
    session_.forget(key);
    if (typed) return typed->reveal();
  }
  nobody_answers_ = true;
  return {};
}

Result<bool> Login::try_interactive() {
  while (may_try("keyboard-interactive") && !nobody_answers_ && passwords_tried_ < password_tries()) {
    const int code = ::libssh2_userauth_keyboard_interactive_ex(
        handle_, config_.user.data(), static_cast<unsigned>(config_.user.size()), answer_for_libssh2);
    if (code == LIBSSH2_ERROR_EAGAIN) return false;
    if (code == 0) return true;
    if (hung_up(code)) return ended();
    if (!prompted_) break;  // offered without a prompt
    ++passwords_tried_;
    forget_password();
  }
  stage_ = Stage::password;
  return false;
}

Result<bool> Login::try_password() {
  while (may_try("password") && !nobody_answers_ && passwords_tried_ < password_tries()) {
    if (!password_ && !take_password()) break;
    const std::string& text = password_->reveal();
    const int code = ::libssh2_userauth_password_ex(handle_, config_.user.data(),
                                                    static_cast<unsigned>(config_.user.size()), text.data(),
                                                    static_cast<unsigned>(text.size()), nullptr);
    if (code == LIBSSH2_ERROR_EAGAIN) return false;
    if (code == 0) return true;
    if (hung_up(code)) return ended();
    ++passwords_tried_;
    forget_password();
  }
  return refused();
}

// A server that allows one attempt closes the connection after a wrong password (MaxAuthTries).
std::unexpected<base::Error> Login::ended() {
  forget_password();
  return base::fail(Fault::unreachable, "");
}

std::unexpected<base::Error> Login::refused() const {
  std::string tried = tried_.empty() ? "no key to offer" : "it rejected " + tried_;
  if (passwords_tried_ > 0)
    tried += fmt::format(" and {} password{}", passwords_tried_, passwords_tried_ > 1 ? "s" : "");
  std::string left_out;
  for (const std::string_view method : {"publickey", "keyboard-interactive", "password"}) {
    const auto offered = base::split(methods_, ',');
    if (!config_.allows(method) && std::ranges::find(offered, method) != offered.end())
      left_out += fmt::format("{}{}", left_out.empty() ? "" : ", ", method);
  }
  if (!left_out.empty()) tried += fmt::format("; the ssh configuration excludes {}", left_out);
  return base::fail(
      Fault::auth,
      fmt::format("{}: cannot log in as {}: {}; it accepts {}", host_, config_.user, tried, methods_),
      fmt::format("install your key: ssh-copy-id -p {} {}@{}; or set another one with identityFile",
                  config_.port, config_.user, config_.host_name));
}

}  // namespace transport
