#include "commands/cli/terminal.hpp"

#include "commands/cli/screen.hpp"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace commands {
namespace {

constexpr int timeout_ms = 300'000;  // time limit for an answer

int first_error = 0;  // of standard output

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) {  // the command continues
      if (descriptor == STDOUT_FILENO && errno != EPIPE && first_error == 0) first_error = errno;
      return;
    }
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

report::Style style_of(int descriptor, report::Verbosity verbosity, report::Color color, report::View view) {
  report::Style style{.verbosity = verbosity};
  if (::isatty(descriptor) == 0) return style;
  const auto variable = [](const char* name) -> std::string_view {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (variable("TERM") == "dumb" || view == report::View::plain) return style;
  style.view = report::View::live;
  if (variable("NO_COLOR").empty()) style.color = color;
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0) style.width = size.ws_col;
  return style;
}

/// The terminal, with or without echo; the destructor restores it. Ctrl-C and Ctrl-D end a line like Enter,
/// so that no signal can leave a terminal without echo.
class Tty {
 public:
  explicit Tty(bool echo) : descriptor_(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {
    if (descriptor_ < 0 || ::tcgetattr(descriptor_, &before_) != 0) return;
    termios now = before_;
    now.c_lflag &= ~static_cast<tcflag_t>(ISIG | (echo ? 0 : ECHO));
    now.c_cc[VEOL] = interrupt;
    usable_ = ::tcsetattr(descriptor_, TCSAFLUSH, &now) == 0;
  }
  ~Tty() {
    if (usable_) ::tcsetattr(descriptor_, TCSAFLUSH, &before_);
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Tty(const Tty&) = delete;
  Tty& operator=(const Tty&) = delete;

  /// The operator's input line. Nothing: no terminal, a timeout, Ctrl-C or Ctrl-D.
  std::optional<base::Secret> ask(std::string_view prompt) const {
    if (!usable_) return std::nullopt;
    write_all(descriptor_, prompt);
    pollfd ready{.fd = descriptor_, .events = POLLIN, .revents = 0};
    int polled = 0;
    do polled = ::poll(&ready, 1, timeout_ms);
    while (polled < 0 && errno == EINTR);
    char line[1024];
    const ssize_t size = polled > 0 ? ::read(descriptor_, line, sizeof line) : 0;
    write_all(descriptor_, "\n");
    const bool answered = size > 0 && line[size - 1] == '\n';
    std::optional<base::Secret> answer;
    if (answered) answer.emplace(std::string(line, static_cast<std::size_t>(size - 1)));
    ::explicit_bzero(line, sizeof line);
    return answer;
  }

 private:
  static constexpr cc_t interrupt = 3;
  int descriptor_;
  termios before_{};
  bool usable_ = false;
};

}  // namespace

commands::Io make_io(report::Verbosity verbosity, report::Color color, report::View view) {
  commands::Io io{.out = [](std::string_view text) { write_all(STDOUT_FILENO, text); },
                  .err = [](std::string_view text) { write_all(STDERR_FILENO, text); },
                  .out_style = style_of(STDOUT_FILENO, verbosity, color, view),
                  .err_style = style_of(STDERR_FILENO, verbosity, color, view),
                  .ask_secret = [](const std::string& prompt) { return Tty(false).ask(prompt); },
                  .confirm = [](const std::string& question) -> std::optional<bool> {
                    const auto answer = Tty(true).ask(question + " [y/N] ");
                    if (!answer) return std::nullopt;
                    return answer->reveal() == "y" || answer->reveal() == "yes";
                  }};
  if (io.out_style.view == report::View::live) {
    io.page = show_page;
    io.end_page = end_page;
  }
  return io;
}

int output_error() {
  return first_error;
}

}  // namespace commands
