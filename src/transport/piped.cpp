#include "transport/piped.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <signal.h>

#include <cerrno>

namespace transport {

namespace {
using namespace std::chrono_literals;
using base::Fault;

constexpr auto after_exit = 2s;   // a background process may hold the pipes open forever
constexpr auto after_term = 2s;   // then SIGKILL
constexpr int reads_a_turn = 16;  // so that a flood does not starve the other hosts
constexpr int passes_a_turn = 16;
constexpr int pipe_bytes = 1 << 20;  // for files; the limit for users (/proc/sys/fs/pipe-max-size)

class Piped final : public Transport {
 public:
  Piped(Session& session, Peer peer, Way way)
      : session_(session),
        peer_(std::move(peer)),
        way_(std::move(way)),
        root_(first_root(session, peer_.user)) {}
  ~Piped() override { close(); }

  Result<void> start(Command command) override {
    if (dialogue_) return base::fail(Fault::bug, peer_.host + ": a command is running");
    label_ = command.label;
    timeout_ = command.timeout;
    connecting_ = way_.connect_timeout.has_value();
    begun_ = base::Clock::now();
    deadline_ = session_.now() + way_.connect_timeout.value_or(timeout_);
    dialogue_.emplace(std::move(command), root_, session_.marks, peer_, way_.status_from);
    auto child = Child::spawn(way_.argv(dialogue_->line()), Child::Wiring::pipes);
    if (!child) {
      dialogue_.reset();
      return std::unexpected(child.error());
    }
    child_ = std::move(*child);
    if (dialogue_->command().input) ::fcntl(child_.in.get(), F_SETPIPE_SZ, pipe_bytes);  // otherwise 64 KiB
    used_ = true;
    return {};
  }

  void interests(std::vector<pollfd>& into) const override {
    if (dialogue_) child_.interests(into, wants_to_write_ ? Child::Writes::yes : Child::Writes::no);
  }

  std::optional<base::Instant> wake() const override {
    if (!dialogue_) return std::nullopt;
    if (more_) return base::Clock::now();
    return session_.real(deadline_);
  }

  Result<std::optional<Exit>> advance() override {
    if (!dialogue_) return std::nullopt;
    auto result = proceed();
    if (!result || *result) {
      root_ = result ? dialogue_->learned() : first_root(session_, peer_.user);
      end_command();
    }
    return result;
  }

  void close() override {
    end_command();
    if (used_ && way_.hang_up) way_.hang_up();
    used_ = false;
  }

  std::uint64_t sent() const override { return dialogue_ ? dialogue_->handed_on() : 0; }
  std::string kind() const override { return way_.kind; }

 private:
  Result<std::optional<Exit>> proceed() {
    receive();
    if (connecting_ && (dialogue_->begun() || dialogue_->climbed())) {
      connecting_ = false;
      if (way_.connected) way_.connected(dialogue_->noise());
      begun_ = base::Clock::now();
      deadline_ = session_.now() + timeout_;
    }
    TRY(answer_sudo(session_, *dialogue_, peer_));
    TRY(send());
    note_end();
    const bool drained = !child_.out.is_open() && !child_.err.is_open();
    const bool late = session_.now() >= deadline_;
    if (terminated_ && (ended_ || late)) return too_late();
    if (ended_ && (drained || late)) return TRY(result());
    if (late && !terminated_) {
      child_.signal(SIGTERM);
      terminated_ = true;
      deadline_ = session_.now() + after_term;
    }
    return std::nullopt;
  }

  void note_end() {
    if (ended_) return;
    ended_ = dialogue_->marked_status();
    if (!ended_) ended_ = child_.status();
    if (ended_) deadline_ = std::min(deadline_, session_.now() + after_exit);
  }

  Result<Exit> result() {
    if (way_.status_from == StatusFrom::end_mark && !dialogue_->marked_status() &&
        (*ended_ == 255 || dialogue_->begun()))
      return std::unexpected(way_.failed(dialogue_->last_words(), dialogue_->begun()));
    auto ended = dialogue_->end(
        dialogue_->marked_status().value_or(*ended_));  // the mark may arrive after the child's end
    forget_rejected(session_, *dialogue_, peer_);
    auto exit = TRY(std::move(ended));
    exit.seconds = std::chrono::duration<double>(base::Clock::now() - begun_).count();
    return exit;
  }

  void receive() {
    more_ = false;
    for (const bool is_out : {true, false}) {
      Descriptor& from = is_out ? child_.out : child_.err;
      for (int i = 0; from.is_open(); ++i) {
        std::string bytes;
        if (Child::read(from, bytes) == Child::Read::later) break;
        is_out ? dialogue_->out(bytes) : dialogue_->err(bytes);
        if (i == reads_a_turn) {
          more_ = true;
          break;
        }
      }
    }
  }

  Result<> send() {
    wants_to_write_ = false;
    while (child_.in.is_open()) {
      if (dialogue_->only_file_is_left() && pass_file()) break;
      const std::string_view bytes = TRY(dialogue_->pending());
      if (dialogue_->all_written()) {
        child_.in.reset();
        break;
      }
      if (bytes.empty()) break;
      const ssize_t written = child_.write(bytes);
      if (written < 0) {
        child_.in.reset();
        break;
      }
      dialogue_->wrote(static_cast<std::size_t>(written));
      if (written == 0) {
        wants_to_write_ = true;
        break;
      }
    }
    return {};
  }

  /// Passes the file without copying it. False if that is not possible: pending() reads the rest then.
  bool pass_file() {
    if (!file_.is_open()) {
      file_.reset(::open(dialogue_->command().input->c_str(), O_RDONLY | O_CLOEXEC));
      if (!file_.is_open() ||
          ::lseek(file_.get(), static_cast<off_t>(dialogue_->file_position()), SEEK_SET) < 0)
        return false;
    }
    for (int i = 0; i < passes_a_turn; ++i) {
      const ssize_t passed = child_.pass(file_.get());
      if (passed < 0 && (errno == EAGAIN || errno == EINTR)) break;
      if (passed < 0 && errno != EPIPE) return false;
      if (passed >= 0) dialogue_->passed(static_cast<std::uint64_t>(passed));
      if (passed <= 0) {
        child_.in.reset();
        return true;
      }
    }
    wants_to_write_ = true;
    return true;
  }

  std::unexpected<base::Error> too_late() const {
    if (connecting_)
      return base::fail(Fault::unreachable,
                        fmt::format("{}: no login within {}{}", peer_.host, seconds(*way_.connect_timeout),
                                    dialogue_->said().empty() ? "" : ": " + dialogue_->said()),
                        "check that the host is up; try manually: " + peer_.login);
    const std::string said = dialogue_->begun() ? "" : dialogue_->said();
    return base::fail(Fault::timeout,
                      fmt::format("{}: “{}” did not {} within {}{}; it was stopped", peer_.host, label_,
                                  dialogue_->begun() ? "end" : "begin", seconds(timeout_),
                                  said.empty() ? "" : ", the host says: " + said));
  }
  static std::string seconds(std::chrono::seconds time) {
    return base::human_seconds(static_cast<double>(time.count()));
  }

  void end_command() {
    child_.signal(SIGTERM);
    child_ = Child();
    file_.reset();
    dialogue_.reset();
    ended_.reset();
    terminated_ = more_ = wants_to_write_ = false;
  }

  Session& session_;
  Peer peer_;
  Way way_;
  Root root_;
  Child child_;
  Descriptor file_;  ///< the command's, while it is passed
  std::optional<Dialogue> dialogue_;
  std::string label_;
  std::chrono::seconds timeout_{};
  base::Instant begun_, deadline_;
  std::optional<int> ended_;
  bool connecting_ = false, terminated_ = false, more_ = false, wants_to_write_ = false, used_ = false;
};
}  // namespace

std::unique_ptr<Transport> piped(Session& session, Peer peer, Way way) {
  return std::make_unique<Piped>(session, std::move(peer), std::move(way));
}

}  // namespace transport
