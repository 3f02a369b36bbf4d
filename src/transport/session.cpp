#include "transport/session.hpp"

#include "gpuadm/base/text.hpp"

#include "transport/ssh/state.hpp"

#include <fmt/format.h>

#include <sys/random.h>
#include <sys/resource.h>

#include <algorithm>

namespace transport {

namespace {
constexpr rlim_t enough_files = 65536;

std::string random_hex() {
  unsigned char bytes[8] = {};
  if (::getrandom(bytes, sizeof bytes, 0) < 0) bytes[0] = 1;  // a mark must be unlikely, not secret
  std::string text;
  for (unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}
}  // namespace

Session::Session(Options with, Operator the_operator)
    : options(std::move(with)),
      marks(random_hex()),
      ssh(std::make_unique<SshState>(*this)),
      operator_(std::move(the_operator)) {}

Session::~Session() = default;

void Session::forget(const std::string& key, const base::Secret& wrong) {
  const auto known = answers_.find(key);
  if (known != answers_.end() && known->second && known->second->reveal() == wrong.reveal())
    answers_.erase(known);
}

std::optional<base::Secret> Session::ask(const std::string& key, const std::string& prompt) {
  if (const auto known = answers_.find(key); known != answers_.end()) return known->second;
  if (!operator_.ask_secret) return std::nullopt;
  auto answer = waiting([&] { return operator_.ask_secret(prompt); });
  return answers_.emplace(key, std::move(answer)).first->second;
}

namespace {
std::string password_key(const std::string& user, const std::string& host, std::string_view what,
                         bool is_new) {
  return fmt::format("password {}{}{}", user, what, is_new ? " " + host : "");
}

/// "a, b, c and 12 others".
std::string some_of(const std::vector<std::string>& hosts) {
  constexpr std::size_t shown = 8;
  const std::vector<std::string> first(
      hosts.begin(), hosts.begin() + static_cast<std::ptrdiff_t>(std::min(shown, hosts.size())));
  const std::string names = base::join(first, ", ");
  return hosts.size() <= shown ? names : fmt::format("{} and {} others", names, hosts.size() - shown);
}
}  // namespace

void Session::add_host(const std::string& host) {
  if (std::ranges::find(hosts_, host) == hosts_.end()) hosts_.push_back(host);
}

std::optional<base::Secret> Session::ask_password(const std::string& user, const std::string& host,
                                                  std::string_view what) {
  std::string where = fmt::format(" on {}", host);
  if (has_new_key(host))
    where += " only (its host key is new and was not verified)";
  else if (hosts_.size() > 1)
    where = fmt::format(" (asked by {}; sent to each of these that asks and has a known host key: {})", host,
                        some_of(hosts_));
  return ask(password_key(user, host, what, has_new_key(host)),
             fmt::format("Password of {}{}{}: ", user, what, where));
}

void Session::forget_password(const std::string& user, const std::string& host, std::string_view what,
                              const base::Secret& wrong) {
  forget(password_key(user, host, what, has_new_key(host)), wrong);
}

void Session::notify(const std::string& host, const std::string& line) const {
  if (operator_.notify) operator_.notify(host, line);
}

void Session::notify_once(const std::string& line) {
  if (notified_.insert(line).second) notify("", line);
}

void SessionDelete::operator()(Session* session) const {
  delete session;
}

SessionPtr make_session(Options options, Operator the_operator) {
  rlimit files{};  // every host's connection remains open
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = std::max(files.rlim_cur, std::min<rlim_t>(files.rlim_max, enough_files));
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  return SessionPtr(new Session(std::move(options), std::move(the_operator)));
}

std::string Session::meeting() {
  return fmt::format("/run/{}-{}", marks.file, ++meetings_);
}

}  // namespace transport
