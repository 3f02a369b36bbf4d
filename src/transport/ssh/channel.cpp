#include "transport/ssh/channel.hpp"

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

Result<Channel::Opened> Channel::open() {
  free();
  channel_ = ::libssh2_channel_open_ex(link_.handle(), "session", 7, window, packet, nullptr, 0);
  if (channel_) return Opened::yes;
  const int code = ::libssh2_session_last_errno(link_.handle());
  if (code == LIBSSH2_ERROR_EAGAIN) return Opened::not_yet;
  if (code == LIBSSH2_ERROR_CHANNEL_FAILURE) return Opened::refused;
  return lost();
}

void Channel::speak(Command command, Root root, const Marks& marks, Share share) {
  dialogue_.emplace(std::move(command), root, marks, link_.peer(), StatusFrom::channel_status,
                    std::move(share));
  line_ = dialogue_->line();
  sent_eof_ = waits_to_send_ = false;
}

Result<bool> Channel::exec() {
  const int code = ::libssh2_channel_process_startup(channel_, "exec", 4, line_.data(),
                                                     static_cast<unsigned>(line_.size()));
  if (code == LIBSSH2_ERROR_EAGAIN) return false;
  if (code == LIBSSH2_ERROR_CHANNEL_REQUEST_DENIED)
    return base::fail(Fault::remote, link_.peer().host + ": sshd does not let this user run commands",
                      "try manually: " + link_.peer().login + " true");
  if (code != 0) return lost();
  return true;
}

Result<> Channel::receive() {
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

Result<bool> Channel::send(std::uint64_t most) {
  while (!sent_eof_) {
    const std::string_view bytes = TRY(dialogue_->pending());
    if (dialogue_->all_written()) {
      // libssh2 1.10 identifies a partially sent packet by its address, which is on its stack for this one
      // and differs in the next call: it must be sent in one piece, or the connection is lost.
      waits_to_send_ = !link_.can_buffer();
      if (waits_to_send_) return true;
      const int code = ::libssh2_channel_send_eof(channel_);
      if (code == LIBSSH2_ERROR_EAGAIN) return false;
      if (code != 0) return lost();
      sent_eof_ = true;
      return true;
    }
    if (bytes.empty() || (dialogue_->program_written() && sent() >= most)) return true;
    const ssize_t written = ::libssh2_channel_write_ex(channel_, 0, bytes.data(), bytes.size());
    if (written == LIBSSH2_ERROR_EAGAIN) return !link_.is_blocked();  // otherwise the window is full
    if (written == 0) return true;
    if (written == LIBSSH2_ERROR_CHANNEL_CLOSED || written == LIBSSH2_ERROR_CHANNEL_EOF_SENT) {
      sent_eof_ = true;  // the program stopped reading; its exit follows
      return true;
    }
    if (written < 0) return lost();
    dialogue_->wrote(static_cast<std::size_t>(written));
  }
  return true;
}

Result<bool> Channel::finish() {
  const int code = ::libssh2_channel_wait_closed(channel_);
  if (code == LIBSSH2_ERROR_EAGAIN) return false;
  if (code != 0) return lost();
  return true;
}

Result<Exit> Channel::result() {
  int status = ::libssh2_channel_get_exit_status(channel_);
  char* signal = nullptr;
  std::size_t size = 0;
  ::libssh2_channel_get_exit_signal(channel_, &signal, &size, nullptr, nullptr, nullptr, nullptr);
  if (signal) status = 128 + signal_number({signal, size});
  std::free(signal);
  free();
  return dialogue_->end(status);
}

std::unexpected<base::Error> Channel::lost() {
  return std::unexpected(link_.lost(fmt::format("during “{}”", label_)));
}

void Channel::free() {
  if (channel_) ::libssh2_channel_free(channel_);
  channel_ = nullptr;
}

void Channel::forget() {
  channel_ = nullptr;
  dialogue_.reset();
}

}  // namespace transport
