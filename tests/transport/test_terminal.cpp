#include <doctest/doctest.h>
//
#include "gpuadm/base/shell.hpp"
#include "gpuadm/transport/terminal.hpp"

#include "sshd.hpp"

#include <algorithm>

using namespace testing_transport;

namespace {

std::string line_of(const std::vector<std::string>& argv) {
  std::string line;
  for (const std::string& word : argv) line += base::quote(word) + " ";
  return line;
}

/// What a local program prints, and its status.
struct Ended {
  int status = 0;
  std::string out;
};
Ended run(const Sshd& sshd, const std::vector<std::string>& argv, const std::string& prefix = "") {
  const auto out = sshd.place.path / "seen";
  const int status = std::system(("(" + prefix + line_of(argv) + ") > " + out.string() + " 2>&1").c_str());
  return {WEXITSTATUS(status), base::read_file(out).value_or("")};
}

bool has(const std::vector<std::string>& argv, std::string_view word) {
  return std::ranges::find(argv, word) != argv.end();
}

const std::string odd = "a 'b' \"c\" $(d) \\ *\n;e";

}  // namespace

TEST_CASE("a program with the terminal of a person gets its input, its words and its status back") {
  if (!can_serve()) return;
  Sshd sshd;
  sshd.make_known();
  const std::string key = sshd.user_key("ed", "ed25519");
  const transport::TerminalProgram program{
      .script = R"(cat; id -u; printf '%s|' "$@"; [ -t 1 ] && echo terminal; exit 7)",
      .words = {odd, ""},
      .terminal = false};
  for (const char* user : {"root", "gpu"}) {
    CAPTURE(user);
    const auto argv = transport::terminal_argv(sshd.options(), sshd.endpoint(key, user), program);
    const Ended ended = run(sshd, argv, "echo input | ");
    CHECK(ended.status == 7);
    CHECK(ended.out == "input\n0\n" + odd + "||");
  }
  // sudo cannot ask without a terminal, and says so.
  const Ended refused =
      run(sshd, transport::terminal_argv(sshd.options(), sshd.endpoint(key, "gpupw"), program), "echo x | ");
  CHECK(refused.status == 1);
  CHECK(refused.out.contains("password"));
}

TEST_CASE("a shell on a host has a terminal there") {
  if (!can_serve() || shell("command -v script") != 0) return;
  Sshd sshd;
  sshd.make_known();
  const transport::TerminalProgram program{.script = "tty", .words = {}};
  const auto argv =
      transport::terminal_argv(sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519"), "gpu"), program);
  const Ended ended = run(sshd, {"script", "-qec", line_of(argv), "/dev/null"});
  CHECK(ended.status == 0);
  CHECK(ended.out.contains("/dev/pts/"));
}

TEST_CASE("the operator's policy of host keys is not loosened for a terminal") {
  const spec::Endpoint host{.address = "192.0.2.1"};
  const transport::TerminalProgram program{.script = "true", .words = {}};
  transport::Options options;
  const auto usual = transport::terminal_argv(options, host, program);
  CHECK(std::ranges::none_of(usual, [](const auto& word) { return word.contains("StrictHostKeyChecking"); }));
  CHECK(!has(usual, "-oBatchMode=yes"));
  CHECK(has(usual, "-t"));
  options.host_keys = spec::HostKeys::strict;
  CHECK(has(transport::terminal_argv(options, host, program), "-oStrictHostKeyChecking=yes"));
  options.host_keys = spec::HostKeys::accept_new;
  spec::Endpoint pinned = host;
  pinned.host_key = "SHA256:abc";
  CHECK(has(transport::terminal_argv(options, pinned, program), "-oStrictHostKeyChecking=yes"));
}

TEST_CASE("on this machine, and with a kubeconfig, no ssh is started") {
  const transport::TerminalProgram program{.script = "exit 3", .words = {"a"}};
  const std::vector<std::string> direct = {"sh", "-c", "exit 3", "sh", "a"};
  CHECK(transport::terminal_argv({}, {.kubeconfig = "/home/a/config"}, program) == direct);
  transport::Options without_sudo;
  without_sudo.sudo = spec::SudoPolicy::never;
  CHECK(transport::terminal_argv(without_sudo, {.local = true}, program) == direct);
  CHECK(transport::terminal_argv({}, {.local = true}, program).size() == 7);
}
