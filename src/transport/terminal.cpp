#include "gpuadm/transport/terminal.hpp"

#include "gpuadm/base/shell.hpp"

#include "transport/ssh/openssh_client.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace transport {

namespace {

using base::Fault;
using Argv = std::vector<std::string>;

/// Runs its arguments as a program of sh as root. Without a terminal, sudo cannot ask.
constexpr const char* through_sudo =
    R"sh([ "$(id -u)" != 0 ] || exec sh -c "$@"; [ -t 0 ] || exec sudo -n -- sh -c "$@"; exec sudo -- sh -c "$@")sh";

/// The words that run it on the host.
Argv words_of(const Options& options, const spec::Endpoint& endpoint, const TerminalProgram& program) {
  const bool sudo =
      program.as == As::root && endpoint.kubeconfig.empty() && options.sudo != spec::SudoPolicy::never;
  Argv words{"sh", "-c"};
  if (sudo) words.insert(words.end(), {through_sudo, "sh"});
  words.insert(words.end(), {program.script, "sh"});
  words.insert(words.end(), program.words.begin(), program.words.end());
  return words;
}

}  // namespace

Argv terminal_argv(const Options& options, const spec::Endpoint& endpoint, const TerminalProgram& program) {
  Argv words = words_of(options, endpoint, program);
  if (endpoint.local || !endpoint.kubeconfig.empty()) return words;
  Argv argv = openssh_terminal(options, endpoint);
  argv.push_back(program.terminal ? "-t" : "-T");
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + base::quote(word);
  argv.insert(argv.end(), {"--", endpoint.address, line});
  return argv;
}

base::Error exec_program(const Argv& argv) {
  std::vector<char*> arguments;
  for (const std::string& word : argv) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  // Handlers are reset by exec; what is ignored, and what is blocked, would be inherited.
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGQUIT}) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvp(arguments.front(), arguments.data());
  const int error = errno;
  return {error == ENOENT ? Fault::usage : Fault::bug,
          fmt::format("cannot start {}: {}", argv.front(), std::strerror(error)),
          argv.front() == "ssh" ? "install the OpenSSH client (openssh-client, openssh-clients)" : ""};
}

}  // namespace transport
