#pragma once

#include "gpuadm/base/secret.hpp"
#include "gpuadm/transport/transport.hpp"

#include "transport/wire.hpp"

#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace transport {

/// One output stream: bytes before the start mark are noise, bytes after it are the program's, up to a limit.
class Capture {
 public:
  Capture(std::string mark, std::size_t limit) : mark_(std::move(mark) + "\n"), limit_(limit) {}
  void feed(std::string_view bytes);
  [[nodiscard]] bool begun() const { return begun_; }
  /// The bytes before the mark; shortened if they are long.
  [[nodiscard]] const std::string& noise() const { return noise_; }
  void forget_noise() { noise_.clear(); }

  std::string kept;
  std::size_t dropped = 0;

 private:
  std::string mark_, noise_;
  std::size_t limit_;
  bool begun_ = false;
};

/// The other side, for messages.
struct Peer {
  std::string host;   ///< the label
  std::string user;   ///< the login user, or empty for this machine
  std::string login;  ///< the command to log in manually: "ssh -p 22 me@host", or empty for this machine
};

/// One command as bytes in and bytes out, independent of the connection: becomes root, sends the program or
/// the file, parses the output. Has no descriptor and no clock.
class Dialogue {
 public:
  Dialogue(Command command, Root root, const Marks& marks, Peer peer, StatusFrom status_from,
           Share share = {});
  ~Dialogue() { wipe(); }
  Dialogue(const Dialogue&) = delete;
  Dialogue& operator=(const Dialogue&) = delete;

  /// The command line for the login shell.
  [[nodiscard]] std::string line() const {
    return command_line(command_, root_, marks_, status_from_, share_);
  }
  [[nodiscard]] const Command& command() const { return command_; }

  /// Bytes to write to stdin now; empty: nothing yet, or nothing more. The same bytes until wrote() confirms
  /// them. Fault::remote if the input file cannot be read.
  [[nodiscard]] Result<std::string_view> pending();
  void wrote(std::size_t bytes) {
    sent_ += bytes;
    if (file_.is_open()) handed_on_ += bytes;
  }
  /// Only the rest of the file is left to write, from the current position: it may be passed without
  /// pending().
  [[nodiscard]] bool only_file_is_left() const {
    return command_.input && share_.part == Share::Part::whole && !climbing_ && !all_queued_ &&
           !file_.is_open() && sent_ == queue_.size();
  }
  /// Bytes of the file were passed; 0: its end was reached.
  void passed(std::uint64_t bytes) {
    handed_on_ += bytes;
    if (bytes == 0) all_queued_ = true;
  }
  /// Position in the file of the next byte to pass.
  [[nodiscard]] std::uint64_t file_position() const { return command_.input_offset + handed_on_; }
  /// Bytes of the file that were written.
  [[nodiscard]] std::uint64_t handed_on() const { return handed_on_; }
  /// The program is written; the file may follow.
  [[nodiscard]] bool program_written() const {
    return !climbing_ && (file_.is_open() || sent_ == queue_.size());
  }
  /// Everything was written: stdin may be closed.
  [[nodiscard]] bool all_written() const { return all_queued_ && sent_ == queue_.size(); }

  void out(std::string_view bytes);
  void err(std::string_view bytes);

  /// sudo waits for a password: answer with give().
  [[nodiscard]] bool wants_password() const { return prompts_ > answers_; }
  void give(const base::Secret& password);
  [[nodiscard]] const base::Secret& given() const { return given_; }
  /// sudo has rejected the password of give(). Known at end() if sudo allows only one attempt.
  [[nodiscard]] bool rejected() const { return rejected_; }
  /// The error that makes it useless to continue, once it is known.
  [[nodiscard]] const std::optional<base::Error>& failure() const { return failure_; }

  /// The result, or why the program did not start. `status` is the channel's.
  [[nodiscard]] Result<Exit> end(int status);
  /// The status after the end mark, once it has arrived (StatusFrom::end_mark).
  [[nodiscard]] std::optional<int> marked_status() const;
  /// The program has started: further output is its own.
  [[nodiscard]] bool begun() const { return out_.begun(); }
  /// The method for becoming root is known, or not needed: the login is complete.
  [[nodiscard]] bool climbed() const {
    return prompts_ > 0 || (root_ != Root::is_login && root_ != Root::free && !climbing_);
  }
  /// Output on stderr before the program started.
  [[nodiscard]] const std::string& noise() const { return err_.noise(); }
  /// The end of the output on stderr.
  [[nodiscard]] std::string last_words() const;
  /// Output of the host before the program started, for messages.
  [[nodiscard]] std::string said() const;
  /// The method for becoming root next time.
  [[nodiscard]] Root learned() const { return learned_; }

 private:
  void listen();
  void send_program();
  void wipe();
  [[nodiscard]] std::string answered() const;
  void reject();
  [[nodiscard]] bool ended_at_password() const;
  [[nodiscard]] base::Error not_begun(int status) const;

  Command command_;
  Root root_, learned_;
  const Marks& marks_;
  Peer peer_;
  StatusFrom status_from_;
  Share share_;
  Capture out_, err_;
  std::string queue_, err_tail_;
  std::size_t sent_ = 0;
  std::uint64_t handed_on_ = 0, read_ = 0;
  bool climbing_ = false, all_queued_ = false;
  int prompts_ = 0, answers_ = 0;
  bool rejected_ = false;
  base::Secret given_;
  std::ifstream file_;
  std::optional<base::Error> failure_;
};

}  // namespace transport
