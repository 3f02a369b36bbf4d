#include "transport/dialogue.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace transport {

namespace {
constexpr std::size_t noise_limit = 8192;  // maximum shown to the operator
constexpr std::size_t tail_limit = 256;    // contains the end mark
constexpr std::size_t chunk = 256u << 10;  // of a streamed file
static_assert(Share::block % chunk == 0);

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + word.size()))
    ++found;
  return found;
}
}  // namespace

void Capture::feed(std::string_view bytes) {
  if (!begun_) {
    const std::size_t before = noise_.size();
    noise_ += bytes;
    const std::size_t from = before > mark_.size() ? before - mark_.size() : 0;
    const std::size_t at = noise_.find(mark_, from);
    if (at == std::string::npos) {
      if (noise_.size() > noise_limit) noise_.erase(noise_limit / 2, noise_.size() - noise_limit);
      return;
    }
    begun_ = true;
    const std::string rest = noise_.substr(at + mark_.size());
    noise_.resize(at);
    feed(rest);
    return;
  }
  const std::size_t space = limit_ - std::min(limit_, kept.size());
  kept += bytes.substr(0, space);
  dropped += bytes.size() - std::min(space, bytes.size());
}

Dialogue::Dialogue(Command command, Root root, const Marks& marks, Peer peer, StatusFrom status_from,
                   Share share)
    : command_(std::move(command)),
      root_(command_.as == As::login ? Root::is_login : root),
      learned_(root),
      marks_(marks),
      peer_(std::move(peer)),
      status_from_(status_from),
      share_(std::move(share)),
      out_(marks.start, command_.output_limit),
      err_(marks.start, command_.output_limit) {
  climbing_ = root_ == Root::ask || root_ == Root::forbidden;
  if (!climbing_) send_program();
}

void Dialogue::send_program() {
  climbing_ = false;
  queue_ += program(command_, marks_, share_);
  if (command_.input) return;  // the file follows
  command_.script = {};
  all_queued_ = true;
}

// Passwords and scripts with secrets are written here.
void Dialogue::wipe() {
  ::explicit_bzero(queue_.data(), queue_.size());
  queue_ = std::string();
  sent_ = 0;
}

Result<std::string_view> Dialogue::pending() {
  if (sent_ == queue_.size()) {
    wipe();
    if (command_.input && !climbing_ && !all_queued_) {
      if (!file_.is_open()) {
        file_.open(*command_.input, std::ios::binary);
        const std::uint64_t before = share_.part == Share::Part::second ? Share::block : 0;
        file_.seekg(static_cast<std::streamoff>(file_position() + before));
      }
      queue_.resize(chunk);
      file_.read(queue_.data(), static_cast<std::streamsize>(chunk));
      queue_.resize(static_cast<std::size_t>(std::max<std::streamsize>(file_.gcount(), 0)));
      if (file_.bad() || (file_.fail() && !file_.eof()))
        return base::fail(base::Fault::remote,
                          fmt::format("{}: cannot read {} to send it", peer_.host, command_.input->string()));
      all_queued_ = file_.eof();
      read_ += queue_.size();
      if (share_.part != Share::Part::whole && !all_queued_ && read_ % Share::block == 0)
        file_.seekg(static_cast<std::streamoff>(Share::block), std::ios::cur);
    }
  }
  return std::string_view(queue_).substr(sent_);
}

void Dialogue::out(std::string_view bytes) {
  out_.feed(bytes);
  if (climbing_) listen();
}

void Dialogue::err(std::string_view bytes) {
  err_.feed(bytes);
  if (status_from_ == StatusFrom::end_mark) {
    err_tail_ += bytes;
    if (err_tail_.size() > tail_limit) err_tail_.erase(0, err_tail_.size() - tail_limit);
  }
  if (!climbing_) return;
  prompts_ = static_cast<int>(count(err_.noise(), marks_.password));
  if (prompts_ > 1) reject();
}

/// sudo's output since its last prompt.
std::string Dialogue::answered() const {
  const std::size_t prompt = err_.noise().rfind(marks_.password);
  if (prompt == std::string::npos) return "";
  const std::string text = err_.noise().substr(prompt + marks_.password.size());
  return base::tail(base::trim(text.substr(0, text.find(marks_.end))), 4);
}

void Dialogue::reject() {
  const std::string words = answered();
  rejected_ = true;
  failure_ = base::Error{base::Fault::auth,
                         fmt::format("{}: sudo rejects the password of {}{}", peer_.host, peer_.user,
                                     words.empty() ? "" : ": " + words),
                         "run again and enter the sudo password of that host"};
}

// With passwd_tries=1, or when PAM allows no further attempt, sudo ends without a second prompt. It checks
// the password before the user's rights, so a user without rights had the right one.
bool Dialogue::ended_at_password() const {
  static constexpr std::array<std::string_view, 3> lacks_rights{"sudoers", "not allowed", "afraid I can't"};
  if (!climbing_ || answers_ == 0) return false;
  const std::string words = answered();
  return std::ranges::none_of(lacks_rights,
                              [&](auto reason) { return words.find(reason) != std::string::npos; });
}

void Dialogue::listen() {
  const auto shows = [&](const std::string& mark) {
    return out_.noise().find(mark + "\n") != std::string::npos;
  };
  if (shows(marks_.root)) {
    learned_ = Root::is_login;
  } else if (shows(marks_.sudo)) {
    learned_ = prompts_ > 0 ? Root::ask : Root::free;
  } else if (shows(marks_.no_sudo)) {
    failure_ = base::Error{
        base::Fault::auth,
        fmt::format("{}: {} is not root{}", peer_.host, peer_.user,
                    root_ == Root::forbidden ? " and sudo may not be used" : ", and there is no sudo"),
        root_ == Root::forbidden ? "log in as root, or set `ssh: {sudo: auto}`"
                                 : "log in as root, or install sudo"};
    return;
  } else {
    return;
  }
  send_program();
}

void Dialogue::give(const base::Secret& password) {
  given_ = password;
  queue_ += password.reveal() + "\n";
  ++answers_;
}

std::string Dialogue::said() const {
  std::string text = err_.begun() ? "" : err_.noise();
  if (!out_.begun()) text += out_.noise();
  text = base::replace_all(text.substr(0, text.find(marks_.end)), marks_.password, "");
  for (const auto& mark : {marks_.root, marks_.sudo, marks_.no_sudo})
    text = base::replace_all(std::move(text), mark + "\n", "");
  return base::tail(base::trim(text), 4);
}

std::string Dialogue::last_words() const {
  return begun() ? base::tail(base::trim(err_tail_), 2) : said();
}

base::Error Dialogue::not_begun(int status) const {
  const std::string words = said();
  const std::string quoted = words.empty() ? std::string(", no output") : ": " + words;
  const bool through_sudo = root_ != Root::is_login && (root_ == Root::free || climbing_);
  if (through_sudo && status != 127)
    return {base::Fault::auth,
            fmt::format("{}: sudo does not let {} run commands{}", peer_.host, peer_.user, quoted),
            fmt::format("log in as root, or allow it with `visudo`: {} ALL=(ALL) NOPASSWD: ALL{}", peer_.user,
                        words.find("tty") == std::string::npos
                            ? ""
                            : fmt::format(", Defaults:{} !requiretty", peer_.user))};
  return {
      base::Fault::remote,
      fmt::format("{}: the login shell did not run a POSIX shell (status {}){}", peer_.host, status, quoted),
      peer_.login.empty()
          ? std::string("check /bin/sh")
          : fmt::format("run `{} /bin/sh -c true`; the user's login shell must be able to run /bin/sh",
                        peer_.login)};
}

std::optional<int> Dialogue::marked_status() const {
  const std::size_t at = err_tail_.rfind(marks_.end + " ");
  if (at == std::string::npos) return std::nullopt;
  const std::string_view rest = std::string_view(err_tail_).substr(at + marks_.end.size() + 1);
  const auto status = base::to_int(rest.substr(0, rest.find('\n')));
  if (!status || rest.find('\n') == std::string_view::npos) return std::nullopt;
  return static_cast<int>(*status);
}

Result<Exit> Dialogue::end(int status) {
  if (!failure_ && ended_at_password()) reject();
  if (failure_) return std::unexpected(*failure_);
  if (!out_.begun()) return std::unexpected(not_begun(status));
  Exit exit;
  exit.status = status;
  exit.out = std::move(out_.kept);
  exit.err = std::move(err_.kept);
  exit.dropped = out_.dropped + err_.dropped;
  if (status_from_ == StatusFrom::end_mark)
    if (const std::size_t at = exit.err.rfind(marks_.end + " "); at != std::string::npos) exit.err.resize(at);
  return exit;
}

}  // namespace transport
