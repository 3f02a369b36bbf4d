#include "commands/cli/screen.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>

namespace commands {
namespace {

constexpr std::string_view enter = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view leave = "\x1b[?25h\x1b[?1049l";
constexpr int handled[] = {SIGTSTP, SIGHUP, SIGQUIT};

bool taken = false;

void put(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void handle(int number, void (*handler)(int)) {
  struct sigaction before{}, action{};
  action.sa_handler = handler;
  ::sigaction(number, nullptr, &before);
  if (before.sa_handler != SIG_IGN) ::sigaction(number, &action, nullptr);
}

/// Restores the terminal, lets the signal take effect, and continues after a stop.
void on_signal(int number) {
  const int error = errno;
  put(leave);
  handle(number, SIG_DFL);
  sigset_t it;
  sigemptyset(&it);
  sigaddset(&it, number);
  ::raise(number);
  ::pthread_sigmask(SIG_UNBLOCK, &it, nullptr);
  handle(number, on_signal);
  put(enter);
  errno = error;
}

void take() {
  taken = true;
  for (const int number : handled) handle(number, on_signal);
  put(enter);
}

/// The columns of a line: colors take none, and the bytes of a character one together.
std::size_t width_of(std::string_view line) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\x1b')
      at = std::min(line.find('m', at), line.size());
    else if ((static_cast<unsigned char>(line[at]) & 0xC0) != 0x80)
      ++width;
  }
  return width;
}

}  // namespace

void show_page(std::string_view text) {
  if (!taken) take();
  winsize size{};
  ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  const std::size_t columns = size.ws_col > 0 ? size.ws_col : 80, rows = size.ws_row > 1 ? size.ws_row : 24;
  const auto lines = base::lines(text);
  std::string page = "\x1b[H";
  std::size_t used = 0, shown = 0;
  for (; shown < lines.size(); ++shown) {
    used += std::max<std::size_t>(1, (width_of(lines[shown]) + columns - 1) / columns);
    if (used >= rows) break;
    page += fmt::format("{}\x1b[K\r\n", lines[shown]);
  }
  page += "\x1b[J";
  if (shown < lines.size())
    page += fmt::format("... {} more lines; enlarge the window to see them", lines.size() - shown);
  put(page);
}

void end_page() {
  if (!taken) return;
  taken = false;
  for (const int number : handled) handle(number, SIG_DFL);
  put(leave);
}

}  // namespace commands
