#include "transport/wire.hpp"

#include "gpuadm/base/shell.hpp"

#include <fmt/format.h>

namespace transport {

namespace {
constexpr std::string_view surroundings =
    "LC_ALL=C; PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export LC_ALL PATH; "
    "umask 022\n";

std::string start_marks(const Marks& marks) {
  return fmt::format("echo {0}; echo {0} >&2\n", marks.start);
}

/// A shell that runs what comes on stdin. Where a file comes behind the program, the program is read to its
/// last byte and no further.
std::string shell_of(const Command& command, const Marks& marks) {
  if (!command.input) return "/bin/sh -s";
  const std::string read = fmt::format("eval \"$(head -c {})\"", program(command, marks).size());
  return "/bin/sh -c " + base::quote(read);
}

// sudo's own prompt is a mark, so a password is written only when sudo asks for one; the program is sent only
// after the shell behind sudo has said that it reads.
std::string climb(const Marks& marks, Root root, std::string_view shell) {
  return fmt::format(
      "{0}"
      "if [ \"$(id -u)\" = 0 ]; then echo {1}; exec {2}; fi\n"
      "{3} || {{ echo {4}; exit 1; }}\n"
      "exec sudo -k -S -p {5} /bin/sh -c {6}",
      surroundings, marks.root, shell, root == Root::forbidden ? "false" : "command -v sudo >/dev/null 2>&1",
      marks.no_sudo, marks.password, base::quote(fmt::format("echo {}; exec {}", marks.sudo, shell)));
}
}  // namespace

Marks::Marks(const std::string& nonce)
    : start("gpuadm-" + nonce + "-start"),
      end("gpuadm-" + nonce + "-end"),
      root("gpuadm-" + nonce + "-root"),
      sudo("gpuadm-" + nonce + "-sudo"),
      no_sudo("gpuadm-" + nonce + "-no-sudo"),
      password("gpuadm-" + nonce + "-password") {}

std::string command_line(const Command& command, Root root, const Marks& marks, Tell tell) {
  const std::string shell = shell_of(command, marks);
  std::string line;
  if (command.as == As::login || root == Root::is_login)
    line = "exec " + shell;
  else if (root == Root::free)
    line = "exec env LC_ALL=C sudo -n " + shell;
  else
    line = fmt::format("exec /bin/sh -c {}", base::quote(climb(marks, root, shell)));
  if (tell == Tell::channel_status) return line;
  return fmt::format("exec /bin/sh -c {}", base::quote(fmt::format("({}); echo {} $? >&2", line, marks.end)));
}

std::string program(const Command& command, const Marks& marks) {
  const std::string head = start_marks(marks) + std::string(surroundings);
  // All of it is parsed before any of it runs: a stray `}` or `fi` is a syntax error, not an early end.
  const std::string body = "gpuadm_main() {\nif :; then :\n" + command.script + "\n\nfi\n}\ngpuadm_main";
  if (command.input) return head + body;
  return head + "eval " + base::quote(body) + " </dev/null\n";
}

}  // namespace transport
