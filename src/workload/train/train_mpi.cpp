#include "gpuadm/base/text.hpp"

#include "workload/train/train_readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

/// MPIJob: https://github.com/kubeflow/mpi-operator.
namespace workload {

namespace {

using base::Tree;

/// Options and variables with arguments for ssh: of Open MPI, PRRTE, MPICH and Intel MPI. deepspeed and
/// horovodrun have an option for its port.
constexpr std::array<std::string_view, 7> ssh_options = {
    "plm_rsh_args",    "plm_ssh_args", "bootstrap-exec-args", "LAUNCHER_EXTRA_ARGS",
    "EXEC_EXTRA_ARGS", "--ssh_port",   "--ssh-port"};
/// Of them, variables that mpi.sh sets.
constexpr std::array<std::string_view, 2> ssh_variables = {"OMPI_MCA_plm_rsh_args", "PRTE_MCA_plm_ssh_args"};

constexpr std::string_view spaces = " =\t\n\"'";

std::optional<int> port_in(std::string_view text) {
  const auto number = base::to_int(text.substr(0, text.find_first_not_of("0123456789")));
  if (!number || *number <= 0 || *number > 65'535) return std::nullopt;
  return static_cast<int>(*number);
}

std::string_view without_spaces(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(spaces);
  return begin == std::string_view::npos ? "" : text.substr(begin);
}

/// The port in options of ssh or of sshd, or in a line for its configuration: "-p 2223", "-o Port=2223".
std::optional<int> ssh_port_in(std::string_view text) {
  for (const std::string_view option : {"-p", "Port"})
    for (std::size_t at = text.find(option); at != std::string_view::npos; at = text.find(option, at + 1)) {
      const bool begins = at == 0 || text[at - 1] == '/' || spaces.contains(text[at - 1]);
      if (!begins) continue;
      if (const auto port = port_in(without_spaces(text.substr(at + option.size())))) return port;
    }
  return std::nullopt;
}

/// The value of an option at the beginning of a text: a quoted one, a word of a list, or up to a space.
std::string_view value_at(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(spaces);
  if (begin == std::string_view::npos) return {};
  const std::string_view before = text.substr(0, begin), value = text.substr(begin);
  const std::size_t quote = before.find_first_of("\"'");
  if (quote != std::string_view::npos) return value.substr(0, value.find(before[quote]));
  return value.substr(0, value.find_first_of(before.contains('\n') ? "\n" : " \t\n"));
}

/// Command, arguments and variables of the container that trains, one a line.
std::string text_of_container(const Tree& container) {
  std::string text;
  for (const char* key : {"command", "args"})
    if (const Tree* words = container.find(key))
      for (const Tree& word : words->items()) text += word.text() + "\n";
  if (const Tree* variables = container.find("env"))
    for (const Tree& one : variables->items())
      text += fmt::format("{}\n{}\n", text_of(one, "name"), text_of(one, "value"));
  return text;
}

/// The port at which the program of rank 0 expects the SSH servers of the others.
std::optional<int> expected_port(const std::string& text) {
  for (const std::string_view option : ssh_options)
    if (const std::size_t at = text.find(option); at != std::string::npos) {
      const std::string_view value = value_at(std::string_view(text).substr(at + option.size()));
      if (const auto port = port_in(value)) return port;
      if (const auto port = ssh_port_in(value)) return port;
    }
  return std::nullopt;
}

void remove_ssh_variables(Tree& container, TrainFields& spec) {
  Tree* list = container.find("env");
  if (!list) return;
  std::erase_if(list->items(), [&](const Tree& one) {
    const std::string name = text_of(one, "name");
    if (std::ranges::find(ssh_variables, name) == ssh_variables.end()) return false;
    spec.remark(one, "launcher.env." + name, "only its port is used: gpuadm configures ssh");
    return true;
  });
}

/// mpirun starts what runs on workers.
void note_commands(TrainFields& spec, const TrainJob& job) {
  for (const Role& role : job.roles) {
    const Tree* containers = role.pod.find("containers");
    if (role.name == "launcher" || !containers || containers->items().empty()) continue;
    for (const char* key : {"command", "args"})
      if (const Tree* words = containers->items().front().find(key); words && !words->items().empty()) {
        spec.remark(*words, fmt::format("{}.containers[0].{}", role.name, key),
                    fmt::format("not run: gpuadm starts sshd on port {}", job.ssh_port));
        break;
      }
  }
}

}  // namespace

void read_ssh_port(TrainFields& fields, TrainJob& job) {
  std::optional<int> port;
  for (Role& role : job.roles) {
    Tree* container = main_container(role);
    if (!container) continue;
    const std::string text = text_of_container(*container);
    if (role.name == "launcher") {
      port = expected_port(text);
      remove_ssh_variables(*container, fields);
    } else if (!port && text.contains("sshd")) {
      port = ssh_port_in(text);
    }
  }
  job.ssh_port = port.value_or(job.ssh_port);
}

void check_launcher(TrainFields& fields, const Role& role) {
  const Tree* containers = role.pod.find("containers");
  if (!containers || containers->items().empty()) return;
  const Tree& container = containers->items().front();
  const Tree *command = container.find("command"), *arguments = container.find("args");
  if ((command && !command->items().empty()) || (arguments && !arguments->items().empty())) return;
  fields.problem(container, role.name + ".containers[0]",
                 "the launcher has no command: set command:, such as [mpirun, ./solver]");
}

void read_mpi(TrainFields& spec, const ReadContext& context, TrainJob& job) {
  static constexpr std::array kinds = {ReplicaKind{"Launcher", "launcher"}, ReplicaKind{"Worker", "worker"}};
  job.framework = Framework::mpi;
  read_replicas(spec.below("mpiReplicaSpecs"), kinds, spec.text("mainContainer"), context, job);
  job.processes = static_cast<int>(spec.number("slotsPerWorker", 1));
  job.launcher_works = spec.flag("runLauncherAsWorker") || job.roles.size() == 1;
  if (job.roles.empty() || job.roles.front().name != "launcher" || job.roles.front().replicas != 1)
    spec.problem("one Launcher is required");
  else
    check_launcher(spec, job.roles.front());
  read_ssh_port(spec, job);
  note_commands(spec, job);
  const std::string implementation = spec.text("mpiImplementation", "OpenMPI");
  if (implementation != "OpenMPI" && implementation != "Intel" && implementation != "MPICH")
    spec.refuse("mpiImplementation", "not OpenMPI, Intel or MPICH");
  job.hosts_form = implementation != "OpenMPI"                 ? HostsForm::hydra
                   : context.version == "kubeflow.org/v2beta1" ? HostsForm::openmpi
                                                               : HostsForm::openmpi_v1;
  spec.note("sshAuthMountPath", "keys are in /etc/gpuadm/mpi, and ssh of the PATH uses them");
  spec.note("launcherCreationPolicy", "the launcher waits until all workers answer");
}

}  // namespace workload
