#include "transport/wire.hpp"

#include "gpuadm/base/shell.hpp"

#include <fmt/format.h>

namespace transport {

namespace {
constexpr std::string_view environment =
    "LC_ALL=C; PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export LC_ALL PATH; "
    "umask 022\n";

std::string start_marks(const Marks& marks) {
  return fmt::format("echo {0}; echo {0} >&2\n", marks.start);
}

/// A shell that runs its stdin. If a file follows the program, exactly the program's bytes are read.
std::string shell_of(const Command& command, const Marks& marks, const Share& share) {
  if (!command.input) return "/bin/sh -s";
  const std::string read = fmt::format("eval \"$(head -c {})\"", program(command, marks, share).size());
  return "/bin/sh -c " + base::quote(read);
}

// The fifo gets its name once it can be written to, and loses it when the second channel is connected. A
// truncated block is the last: no later data may follow.
constexpr std::string_view put_together = R"sh(
gpuadm_meeting={0}
trap 'rm -f "$gpuadm_meeting" "$gpuadm_meeting.new"' EXIT
trap 'exit 1' HUP TERM
mkfifo -m 600 "$gpuadm_meeting.new" && exec 8<>"$gpuadm_meeting.new" && mv "$gpuadm_meeting.new" "$gpuadm_meeting" || exit 1
[ "$(timeout 30 dd bs=1 count=1 <&8 2>/dev/null)" = . ] || gpuadm_late=yes
exec 9<"$gpuadm_meeting" 8>&-
rm -f "$gpuadm_meeting"
trap - EXIT HUP TERM
[ -z "${{gpuadm_late:-}}" ] || {{ echo "the second half of the file did not arrive within 30s" >&2 && exit 1; }}
gpuadm_block() {{ case $(dd bs={1} count=1 iflag=fullblock 2>&1 >&7) in 1+0*) ;; *) return 1 ;; esac; }}
{{ while gpuadm_block && gpuadm_block <&9; do :; done; }} 7>&1 | gpuadm_main 9<&-)sh";

// Waits up to a minute for the fifo; opened for reading and writing, which does not wait for a reader, and
// then for writing only, which ends with it.
constexpr std::string_view connect_halves = R"sh(gpuadm_tries=0
until [ -p {0} ] || [ "$gpuadm_tries" -ge 600 ]; do sleep 0.1 && gpuadm_tries=$((gpuadm_tries + 1)); done
[ -p {0} ] && exec 8<>{0} >{0} 8>&- || exit 1
printf . && exec cat)sh";

// sudo's prompt is a mark, so that a password is only written when sudo prompts for one; the program is sent
// only after the shell behind sudo has reported that it reads.
std::string climb(const Marks& marks, Root root, std::string_view shell) {
  return fmt::format(
      "{0}"
      "if [ \"$(id -u)\" = 0 ]; then echo {1}; exec {2}; fi\n"
      "{3} || {{ echo {4}; exit 1; }}\n"
      "exec sudo -k -S -p {5} /bin/sh -c {6}",
      environment, marks.root, shell, root == Root::forbidden ? "false" : "command -v sudo >/dev/null 2>&1",
      marks.no_sudo, marks.password, base::quote(fmt::format("echo {}; exec {}", marks.sudo, shell)));
}
}  // namespace

Marks::Marks(const std::string& nonce)
    : start("gpuadm-" + nonce + "-start"),
      end("gpuadm-" + nonce + "-end"),
      root("gpuadm-" + nonce + "-root"),
      sudo("gpuadm-" + nonce + "-sudo"),
      no_sudo("gpuadm-" + nonce + "-no-sudo"),
      password("gpuadm-" + nonce + "-password"),
      file("gpuadm-" + nonce) {}

Command second_half(const Command& command, const Share& share) {
  Command half;
  half.label = command.label;
  half.script = fmt::format(connect_halves, base::quote(share.meeting));
  half.effect = command.effect;
  half.as = command.as;
  half.timeout = command.timeout;
  half.input = command.input;
  half.input_offset = command.input_offset;
  return half;
}

std::string command_line(const Command& command, Root root, const Marks& marks, StatusFrom status_from,
                         const Share& share) {
  const std::string shell = shell_of(command, marks, share);
  std::string line;
  if (command.as == As::login || root == Root::is_login)
    line = "exec " + shell;
  else if (root == Root::free)
    line = "exec env LC_ALL=C sudo -n " + shell;
  else
    line = fmt::format("exec /bin/sh -c {}", base::quote(climb(marks, root, shell)));
  if (status_from == StatusFrom::channel_status) return line;
  return fmt::format("exec /bin/sh -c {}", base::quote(fmt::format("({}); echo {} $? >&2", line, marks.end)));
}

std::string program(const Command& command, const Marks& marks, const Share& share) {
  const std::string head = start_marks(marks) + std::string(environment);
  // All of it is parsed before any of it runs: a stray `}` or `fi` is a syntax error, not an early end.
  const std::string body = "gpuadm_main() {\nif :; then :\n" + command.script.text() + "\n\nfi\n}";
  if (share.part == Share::Part::first)
    return head + body + fmt::format(put_together, base::quote(share.meeting), Share::block);
  if (command.input) return head + body + "\ngpuadm_main";
  return head + "eval " + base::quote(body + "\ngpuadm_main") + " </dev/null\n";
}

}  // namespace transport
