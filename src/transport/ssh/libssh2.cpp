#include "transport/ssh/libssh2.hpp"

#include "gpuadm/base/text.hpp"

#include "transport/sudo.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string_view>

namespace transport {

namespace {
using base::Fault;
constexpr unsigned window = 2u << 20;  // bytes a host may send ahead
constexpr unsigned packet = 32u << 10;

// RFC 4254, section 6.10
int signal_number(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, int>, 13> known{{{"ABRT", 6},
                                                                           {"ALRM", 14},
                                                                           {"FPE", 8},
                                                                           {"HUP", 1},
                                                                           {"ILL", 4},
                                                                           {"INT", 2},
                                                                           {"KILL", 9},
                                                                           {"PIPE", 13},
                                                                           {"QUIT", 3},
                                                                           {"SEGV", 11},
                                                                           {"TERM", 15},
                                                                           {"USR1", 10},
                                                                           {"USR2", 12}}};
  for (const auto& [text, number] : known)
    if (text == name) return number;
  return 127;
}
}  // namespace

Libssh2::Libssh2(Session& session, const std::string& host, const spec::Endpoint& endpoint)
    : session_(session), link_(session, host, endpoint) {}

Result<void> Libssh2::start(Command command) {
  if (phase_ != Phase::idle) return base::fail(Fault::bug, link_.peer().host + ": a command is running");
  command_ = std::move(command);
  reused_ = link_.ready();
  link_.begin();
  phase_ = Phase::link;
  return {};
}

void Libssh2::interests(std::vector<pollfd>& into) const {
  if (phase_ == Phase::idle) return;
  link_.interests(into);
  if (phase_ == Phase::talk && waits_for_room_ && !into.empty()) into.back().events |= POLLOUT;
}

std::optional<base::Instant> Libssh2::wake() const {
  if (phase_ == Phase::idle) return std::nullopt;
  if (phase_ == Phase::link) return link_.ready() ? base::Clock::now() : link_.wake();
  return session_.real(deadline_);
}

Result<std::optional<Exit>> Libssh2::advance() {
  if (phase_ == Phase::idle) return std::nullopt;
  auto progress = go_on();
  link_.turned();
  if (!progress) {
    close();
    root_.reset();
  } else if (*progress) {
    phase_ = Phase::idle;
    dialogue_.reset();
  }
  return progress;
}

Result<std::optional<Exit>> Libssh2::go_on() {
  if (phase_ == Phase::link) {
    if (!TRY(link_.advance())) return std::nullopt;
    deadline_ = session_.now() + command_.timeout;
    phase_ = Phase::open;
  }
  link_.turn();
  while (true) {
    const std::size_t received = link_.received();
    auto moved = step();
    if (!moved && reused_ && phase_ == Phase::open && moved.error().fault == Fault::unreachable) {
      link_.close();  // it died while idle; nothing was sent, so a new one may be made
      reused_ = false;
      link_.begin();
      phase_ = Phase::link;
      return go_on();
    }
    if (!moved) return std::unexpected(std::move(moved).error());
    if (phase_ == Phase::idle) return TRY(result());
    // Writing reads too, and one stream's reader queues the other's bytes: what has come must be looked at
    // once more.
    if (*moved || link_.received() != received) continue;
    if (session_.now() < deadline_) return std::nullopt;
    return too_late();
  }
}

std::unexpected<base::Error> Libssh2::too_late() const {
  const std::string limit = base::human_seconds(static_cast<double>(command_.timeout.count()));
  const std::string said = dialogue_ && !dialogue_->begun() ? dialogue_->said() : "";
  return base::fail(
      Fault::timeout,
      fmt::format("{}: “{}” did not {} within {}{}; the connection was closed", link_.peer().host,
                  command_.label, dialogue_ && dialogue_->begun() ? "end" : "begin", limit,
                  said.empty() ? "" : ", the host says: " + said),
      fmt::format("see what hangs there: {} ps -ef --forest", link_.peer().login));
}

Result<bool> Libssh2::step() {
  switch (phase_) {
    case Phase::open:
      return open_channel();
    case Phase::exec:
      return exec();
    case Phase::talk:
      return talk();
    case Phase::closing:
      return close_channel();
    default:
      return false;
  }
}

Result<bool> Libssh2::open_channel() {
  free_channel();
  channel_ = ::libssh2_channel_open_ex(link_.handle(), "session", 7, window, packet, nullptr, 0);
  if (!channel_) {
    const int code = ::libssh2_session_last_errno(link_.handle());
    if (code == LIBSSH2_ERROR_EAGAIN) return false;
    if (code == LIBSSH2_ERROR_CHANNEL_FAILURE)
      return base::fail(Fault::remote, link_.peer().host + ": sshd refuses to open a session",
                        "see MaxSessions and ForceCommand in the host's sshd_config");
    return lost();
  }
  const Peer& peer = link_.peer();
  dialogue_.emplace(command_, root_.value_or(first_root(session_, peer.user)), session_.marks, peer,
                    Tell::channel_status);
  line_ = dialogue_->line();
  sent_eof_ = waits_for_room_ = false;
  begun_ = base::Clock::now();
  phase_ = Phase::exec;
  return true;
}

Result<bool> Libssh2::exec() {
  const int code = ::libssh2_channel_process_startup(channel_, "exec", 4, line_.data(),
                                                     static_cast<unsigned>(line_.size()));
  if (code == LIBSSH2_ERROR_EAGAIN) return false;
  if (code == LIBSSH2_ERROR_CHANNEL_REQUEST_DENIED)
    return base::fail(Fault::remote, link_.peer().host + ": sshd refuses to run commands for this user",
                      "try by hand: " + link_.peer().login + " true");
  if (code != 0) return lost();
  phase_ = Phase::talk;
  return true;
}

Result<bool> Libssh2::talk() {
  TRY(receive());
  TRY(answer_sudo(session_, *dialogue_, link_.peer()));
  if (::libssh2_channel_eof(channel_) == 1) {
    phase_ = Phase::closing;
    return true;
  }
  TRY(send());
  return false;
}

Result<> Libssh2::receive() {
  char buffer[32u << 10];
  for (const int stream : {0, SSH_EXTENDED_DATA_STDERR}) {
    while (true) {
      const ssize_t got = ::libssh2_channel_read_ex(channel_, stream, buffer, sizeof buffer);
      if (got == 0 || got == LIBSSH2_ERROR_EAGAIN) break;
      if (got < 0) return lost();
      const std::string_view bytes(buffer, static_cast<std::size_t>(got));
      stream == 0 ? dialogue_->out(bytes) : dialogue_->err(bytes);
    }
  }
  return {};
}

Result<> Libssh2::send() {
  while (!sent_eof_) {
    const std::string_view bytes = TRY(dialogue_->pending());
    if (dialogue_->all_written()) {
      // A packet that went out in part is known by its address, and libssh2 1.10 has this one on its stack,
      // which is elsewhere when it is called again: it goes in one piece, or the connection is lost.
      waits_for_room_ = !link_.has_room();
      if (waits_for_room_) return {};
      const int code = ::libssh2_channel_send_eof(channel_);
      if (code == LIBSSH2_ERROR_EAGAIN) return {};
      if (code != 0) return lost();
      sent_eof_ = true;
      return {};
    }
    if (bytes.empty()) return {};
    const ssize_t written = ::libssh2_channel_write_ex(channel_, 0, bytes.data(), bytes.size());
    if (written == LIBSSH2_ERROR_EAGAIN || written == 0) return {};
    if (written == LIBSSH2_ERROR_CHANNEL_CLOSED || written == LIBSSH2_ERROR_CHANNEL_EOF_SENT) {
      sent_eof_ = true;  // the program stopped reading; its exit follows
      return {};
    }
    if (written < 0) return lost();
    dialogue_->wrote(static_cast<std::size_t>(written));
  }
  return {};
}

Result<bool> Libssh2::close_channel() {
  const int code = ::libssh2_channel_wait_closed(channel_);
  if (code == LIBSSH2_ERROR_EAGAIN) return false;
  if (code != 0) return lost();
  phase_ = Phase::idle;
  return true;
}

Result<Exit> Libssh2::result() {
  int status = ::libssh2_channel_get_exit_status(channel_);
  char* signal = nullptr;
  std::size_t size = 0;
  ::libssh2_channel_get_exit_signal(channel_, &signal, &size, nullptr, nullptr, nullptr, nullptr);
  if (signal) status = 128 + signal_number({signal, size});
  std::free(signal);
  free_channel();
  auto exit = TRY(dialogue_->end(status));
  exit.seconds = std::chrono::duration<double>(base::Clock::now() - begun_).count();
  root_ = dialogue_->learned();
  return exit;
}

std::unexpected<base::Error> Libssh2::lost() {
  return std::unexpected(link_.lost(fmt::format("during “{}”", command_.label)));
}

void Libssh2::free_channel() {
  // What cannot be sent now is freed with the session.
  if (channel_) ::libssh2_channel_free(channel_);
  channel_ = nullptr;
}

void Libssh2::close() {
  channel_ = nullptr;
  link_.close();
  dialogue_.reset();
  phase_ = Phase::idle;
}

}  // namespace transport
