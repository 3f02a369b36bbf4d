#include "gpuadm/base/text.hpp"

#include "commands/workloads/notebook/notebook.hpp"
#include "commands/workloads/service/verbs.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <string>
#include <vector>

namespace commands {

namespace {

using base::Fault;

struct NotebookShellOptions {
  NamedService notebook;
  std::vector<std::string> command;  ///< empty: a shell
  std::chrono::seconds timeout{600};
};

std::string container_of(const base::Tree& deployment) {
  const base::Tree* containers = deployment.at({"spec", "template", "spec", "containers"});
  if (containers == nullptr || containers->items().empty()) return {};
  return text_of(containers->items().front(), "name");
}

/// Runs a program in the pod of a notebook, by a program of this machine that replaces gpuadm. Returns only
/// if it is not started.
Result<Outcome> notebook_shell(const NotebookShellOptions& options, Io& io) {
  const NamedService& notebook = options.notebook;
  const bool terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  if (options.command.empty() && !terminal)
    return base::fail(Fault::usage, "a shell needs a terminal",
                      "or give a command: " + command_for("shell", notebook) + " -- nvidia-smi");
  auto cluster = TRY(reach_service(notebook, session::Access::read_only, io));
  TRY(await_service(notebook, options.timeout, *cluster, io));
  const auto objects = TRY(find_service(*cluster, notebook));
  transport::TerminalProgram program;
  program.script = TRY(session::script_of("playbooks/pod-terminal.sh", cluster->assets()));
  const spec::Endpoint& endpoint = cluster->host().endpoint;
  if (!endpoint.kubeconfig.empty())
    program.script = base::assignments({{"client_kubeconfig", endpoint.kubeconfig}}) + program.script;
  const base::Tree& deployment = *TRY(deployment_of(objects, notebook));
  program.words = {notebook.ns, "deployment/" + notebook.name, container_of(deployment),
                   terminal ? "yes" : "no"};
  program.words.insert(program.words.end(), options.command.begin(), options.command.end());
  program.terminal = terminal;
  const auto argv = session::terminal_argv(cluster->spec(), cluster->host(), program);
  cluster.reset();  // its connections end
  return std::unexpected(transport::exec_program(argv));
}

}  // namespace

Command notebook_shell_command() {
  return CommandRow<NotebookShellOptions>{
      .name = "notebook shell",
      .group = Group::workloads,
      .summary =
          "Open a shell in a notebook, or run a command in it: gpuadm notebook shell NAME [-- COMMAND]",
      .options =
          [](Line& line, NotebookShellOptions& options) {
            add_named(line, options.notebook);
            line.command(options.command);
            add_wait_timeout(line, options.timeout,
                             "Time limit until it is ready, if it is starting (default 600)");
          },
      .examples = {{"gpuadm notebook shell anna -f cluster.yaml", "bash, or sh, in its container"},
                   {"gpuadm notebook shell anna -f cluster.yaml -- nvidia-smi", "one command"}},
      .run = notebook_shell};
}

}  // namespace commands
