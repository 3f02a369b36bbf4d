#include "transport/ssh/libssh2.hpp"

#include "gpuadm/base/text.hpp"

#include "transport/sudo.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace transport {

namespace {
using base::Fault;
using namespace std::chrono_literals;
constexpr std::uint64_t worth_two_channels = 16u << 20;  // bytes of a file
constexpr auto begins_within = 10s, closes_within = 2s;  // a second channel

/// Bytes of a command's file that are to be sent; 0 without a file.
std::uint64_t file_bytes(const Command& command) {
  if (!command.input) return 0;
  std::error_code error;
  const auto size = std::filesystem::file_size(*command.input, error);
  return error || size < command.input_offset ? 0 : size - command.input_offset;
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
  if (phase_ == Phase::talk && (main_.waits_to_send() || second_.waits_to_send()) && !into.empty())
    into.back().events |= POLLOUT;
}

std::optional<base::Instant> Libssh2::wake() const {
  if (phase_ == Phase::idle) return std::nullopt;
  if (phase_ == Phase::link) return link_.ready() ? base::Clock::now() : link_.wake();
  return session_.real(deadline_);
}

Result<std::optional<Exit>> Libssh2::advance() {
  if (phase_ == Phase::idle) return std::nullopt;
  auto progress = proceed();
  link_.turned();
  if (!progress) {
    close();
    root_.reset();
  } else if (*progress) {
    phase_ = Phase::idle;
    main_.forget();
    second_.forget();
  }
  return progress;
}

Result<std::optional<Exit>> Libssh2::proceed() {
  if (phase_ == Phase::link) {
    if (!TRY(link_.advance())) return std::nullopt;
    deadline_ = session_.now() + command_.timeout;
    phase_ = Phase::open;
    asked_.reset();
  }
  link_.turn();
  while (true) {
    const std::size_t received = link_.received();
    auto moved = step();
    if (!moved && reused_ && phase_ == Phase::open) {
      // It was closed while idle, or sshd still counts the last session (MaxSessions); nothing was sent, so a
      // new one may be opened.
      link_.close();
      reused_ = false;
      link_.begin();
      phase_ = Phase::link;
      return proceed();
    }
    if (!moved) return std::unexpected(std::move(moved).error());
    if (phase_ == Phase::idle) {
      auto ended = main_.result();
      forget_rejected(session_, *main_.dialogue(), link_.peer());
      auto exit = TRY(std::move(ended));
      exit.seconds = std::chrono::duration<double>(base::Clock::now() - begun_).count();
      root_ = main_.dialogue()->learned();
      if (second_.is_open()) link_.close();  // closes hanging channels with the connection
      return exit;
    }
    // Writing also reads, and one stream's reader queues the other's bytes: both must be read again.
    if (*moved || link_.received() != received) continue;
    if (session_.now() < deadline_) return std::nullopt;
    return too_late();
  }
}

std::unexpected<base::Error> Libssh2::too_late() {
  const auto& dialogue = main_.dialogue();
  const std::string limit = base::human_seconds(static_cast<double>(command_.timeout.count()));
  const std::string said = dialogue && !dialogue->begun() ? dialogue->said() : "";
  return base::fail(
      Fault::timeout,
      fmt::format("{}: “{}” did not {} within {}{}; the connection was closed", link_.peer().host,
                  command_.label, dialogue && dialogue->begun() ? "end" : "begin", limit,
                  said.empty() ? "" : ", the host says: " + said),
      fmt::format("check what hangs: {} ps -ef --forest", link_.peer().login));
}

Result<bool> Libssh2::step() {
  switch (phase_) {
    case Phase::open:
      return open_main();
    case Phase::open_second:
      return open_second();
    case Phase::exec_second:
      if (!TRY(second_.exec())) return false;
      deadline_ = session_.now() + begins_within;
      phase_ = Phase::begin_second;
      return true;
    case Phase::begin_second:
      return begin_second();
    case Phase::exec:
      if (!TRY(main_.exec())) return false;
      phase_ = Phase::talk;
      return true;
    case Phase::talk:
      return talk();
    case Phase::closing:
      return close_main();
    case Phase::closing_second:
      return close_second();
    default:
      return false;
  }
}

Root Libssh2::root() const {
  return root_.value_or(first_root(session_, link_.peer().user));
}

bool Libssh2::takes_two(const Command& command) const {
  if (!command.input || round_trip_ < session_.options.long_way) return false;
  if (command.as != As::root || root() == Root::ask || root() == Root::forbidden) return false;
  return file_bytes(command) >= worth_two_channels;
}

bool Libssh2::is_slower_than_openssh(const Command& command) const {
  return command.input && link_.ready() && link_.by_key() && !takes_two(command) &&
         file_bytes(command) >= session_.options.openssh_from;
}

Result<bool> Libssh2::open_main() {
  if (!asked_) asked_ = base::Clock::now();
  switch (TRY(main_.open())) {
    case Channel::Opened::not_yet:
      return false;
    case Channel::Opened::refused:
      return base::fail(Fault::remote, link_.peer().host + ": sshd does not open a session",
                        "check MaxSessions and ForceCommand in the host's sshd_config");
    case Channel::Opened::yes:
      break;
  }
  begun_ = base::Clock::now();
  round_trip_ = begun_ - *asked_;
  second_first_ = false;
  if (takes_two(command_))
    phase_ = Phase::open_second;
  else
    speak({});
  return true;
}

Result<bool> Libssh2::open_second() {
  switch (TRY(second_.open())) {
    case Channel::Opened::not_yet:
      return false;
    case Channel::Opened::refused:
      speak({});
      return true;
    case Channel::Opened::yes:
      break;
  }
  share_ = {Share::Part::first, session_.meeting()};
  second_.speak(second_half(command_, share_), root(), session_.marks, {Share::Part::second, share_.meeting});
  phase_ = Phase::exec_second;
  return true;
}

Result<bool> Libssh2::begin_second() {
  TRY(second_.receive());
  const bool begun = second_.dialogue()->begun();
  if (!begun && !second_.said_all() && session_.now() < deadline_) {
    TRY(second_.send(0));
    return false;
  }
  if (!begun) second_.free();
  speak(begun ? share_ : Share{});
  return true;
}

void Libssh2::speak(const Share& share) {
  main_.speak(command_, root(), session_.marks, share);
  deadline_ = session_.now() + command_.timeout;
  phase_ = Phase::exec;
}

Result<bool> Libssh2::talk() {
  TRY(main_.receive());
  if (second_.is_open()) TRY(second_.receive());
  TRY(answer_sudo(session_, *main_.dialogue(), link_.peer()));
  if (main_.said_all()) {
    phase_ = Phase::closing;
    return true;
  }
  TRY(send());
  return false;
}

Result<> Libssh2::send() {
  if (second_first_ && !TRY(second_.send(main_.sent()))) return {};
  second_first_ = false;
  if (!second_.is_open()) {
    TRY(main_.send());
    return {};
  }
  // Neither is ahead of the other by more than a block: on a slow connection, nothing would be complete for a
  // long time.
  for (std::uint64_t before = sent() + 1; before != sent();) {
    before = sent();
    if (!TRY(main_.send(second_.sent() + Share::block))) return {};
    second_first_ = !TRY(second_.send(main_.sent()));
    if (second_first_) return {};
  }
  return {};
}

Result<bool> Libssh2::close_main() {
  if (!TRY(main_.finish())) return false;
  deadline_ = session_.now() + closes_within;
  phase_ = second_.is_open() ? Phase::closing_second : Phase::idle;
  return true;
}

Result<bool> Libssh2::close_second() {
  if (second_.close())
    second_.free();
  else if (session_.now() < deadline_)
    return false;
  phase_ = Phase::idle;
  return true;
}

void Libssh2::close() {
  main_.forget();
  second_.forget();
  link_.close();
  phase_ = Phase::idle;
}

}  // namespace transport
