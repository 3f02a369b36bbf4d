#include "commands/cli/verbs/train.hpp"

#include "commands/cli/options.hpp"
#include "commands/workloads/train/train.hpp"

#include <map>
#include <memory>

namespace commands {

namespace {

void add_output(CLI::App& verb, commands::TrainForm& form,
                const std::map<std::string, commands::TrainForm>& names, const char* says) {
  std::string text;
  for (const auto& [name, value] : names) text += (text.empty() ? "" : "|") + name;
  verb.add_option_function<std::string>(
          "-o,--output", [&form, names](const std::string& name) { form = names.at(name); }, says)
      ->option_text(text)
      ->check(CLI::IsMember(names));
}

/// A repeatable option with one value.
void add_repeated(CLI::App& verb, const char* name, std::vector<std::string>& list, const char* text,
                  const char* says) {
  verb.add_option(name, list, says)->allow_extra_args(false)->option_text(text);
}

void add_job(CLI::App& verb, commands::TrainRunOptions& options) {
  verb.add_option("NAME", options.name, "Name of the job; not with a manifest")->option_text(" ");
  verb.add_option(
      "TARGET", options.hosts.targets,
      "[user@]host[:port], or names from the cluster file (default: all its hosts, or this machine)");
  verb.add_option("-f,--file", options.files,
                  "Cluster file, or the manifest of a job: PyTorchJob, MPIJob, TFJob, TrainJob or Job; can "
                  "be repeated")
      ->allow_extra_args(false)
      ->option_text("FILE");
  add_namespace(verb, options.space, "Namespace of the job (default: default)");
  verb.add_option("--image", options.image, "Container image")->option_text("IMAGE");
  verb.add_option("--nodes", options.nodes, "Number of ranks, each on a node of its own (default 1)")
      ->check(CLI::Range(1, 10'000))
      ->option_text("N");
  verb.add_option("--gpus", options.gpus,
                  "GPUs of each rank (default: 1, or those of the manifest): a number, a share such as 1/4, "
                  "or MIG instances such as 1g.10gb:2")
      ->option_text("G");
  verb.add_flag("--pack", options.pack, "Allow several ranks on one node");
  auto* tensorflow = verb.add_flag_callback(
      "--tf", [&options] { options.framework = commands::TrainFramework::tensorflow; }, "Set TF_CONFIG");
  verb.add_flag_callback(
          "--mpi", [&options] { options.framework = commands::TrainFramework::mpi; },
          "Run the command on rank 0, with sshd on all ranks and a host file for mpirun")
      ->excludes(tensorflow);
  add_repeated(verb, "--storage", options.volumes, "NAME[:PATH]",
               "Mount a claim at a path (default /data); with --size also a new one on a storage or of a "
               "StorageClass; the first one holds the checkpoints; can be repeated");
  verb.add_option("--size", options.size, "Create a claim of this size, named like the job, such as 10Gi")
      ->option_text("SIZE");
  verb.add_option(
          "--src", options.source,
          "Copy this folder to /workspace of every rank, at most 900 KiB, without .git, caches, .env and "
          "keys, which are named")
      ->option_text("DIR");
  add_repeated(
      verb, "--include", options.include, "PATTERN",
      "With --src: copy what is left out and has this name or path, such as .env or 'certs/*.pem'; can "
      "be repeated");
  add_repeated(verb, "--env", options.environment, "NAME=VALUE",
               "Variable of the command, not one that gpuadm sets (RANK, MASTER_ADDR); can be repeated");
  add_repeated(verb, "--resource", options.resources, "NAME=NUMBER",
               "Resource of each rank other than GPUs, CPUs and memory, such as rdma/hca=1; can be repeated");
  const auto add = [&](const char* name, auto& value, const char* text, const char* says) {
    return verb.add_option(name, value, says)->option_text(text);
  };
  add("--cpus", options.cpus, "CPUS", "CPUs that each rank requests, such as 4 or 500m");
  add("--memory", options.memory, "SIZE", "Memory limit of each rank, such as 32Gi");
  add("--shm", options.shm, "SIZE",
      "Limit of /dev/shm, which is part of the memory (default: the memory of the node)");
  add("--master-port", options.port, "PORT", "Port at which the ranks meet (default 29500; with --tf 2222)")
      ->check(CLI::Range(1024, 65535));
  add("--processes", options.processes, "N",
      "Processes of torchrun, or MPI slots, on each rank (default: its number of GPUs, at least 1)")
      ->check(CLI::Range(1, 1024));
  add("--time-limit", options.timeout, "TIME", "End the job after this time: 30m, 12h");
  add_list(verb, "--ignore", options.ignore, "ID,...", "Treat these blockers as warnings");
}

void add_start(CLI::App& verb, int& wait, bool& detach) {
  verb.add_option("--wait", wait, "Time limit until all ranks run; otherwise none does (default 300)")
      ->check(CLI::Range(1, 86'400))
      ->option_text("SECONDS");
  verb.add_flag("--detach", detach, "Return when all ranks run, without following their logs");
}

using RunFunction = base::Result<commands::Outcome> (*)(const commands::TrainRunOptions&, commands::Io&);

/// run and check: with a command after `--`.
std::shared_ptr<commands::TrainRunOptions> add_run_verb(CLI::App& verb, RunFunction does, Global& global,
                                                        Verb& chosen) {
  const auto options = std::make_shared<commands::TrainRunOptions>();
  add_job(verb, *options);
  verb.fallthrough();
  verb.final_callback([options, does, &global, &chosen] {
    chosen = [options, does, &global](commands::Io& io) {
      options->common.assets = global.assets;
      options->command = global.command;
      return does(*options, io);
    };
  });
  return options;
}

const std::map<std::string, commands::TrainForm> text_json = {{"text", commands::TrainForm::text},
                                                              {"json", commands::TrainForm::json}};

void add_run(CLI::App& group, Global& global, Verb& chosen) {
  auto* verb =
      group.add_subcommand("run", "Run a training job: gpuadm train run NAME --image IMAGE -- COMMAND");
  const auto run = add_run_verb(*verb, commands::train_run, global, chosen);
  add_start(*verb, run->wait, run->detach);
  verb->add_flag("--offline", run->offline, "With -o yaml: connect to no host");
  verb->add_flag("--all-reduce", run->all_reduce,
                 "Before, test an all-reduce between the ranks, as gpuadm train check does");
  add_output(*verb, run->form, {{"text", commands::TrainForm::text}, {"yaml", commands::TrainForm::yaml}},
             "Output format; yaml: print the objects and create nothing");
  add_connection(*verb, run->common.connection);
}

void add_check(CLI::App& group, Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand("check", "Check whether a training job can run now, without creating it");
  const auto check = add_run_verb(*verb, commands::train_check, global, chosen);
  check->all_reduce = true;
  verb->add_flag_callback(
      "--no-all-reduce", [check] { check->all_reduce = false; },
      "Create nothing at all: omit the all-reduce between the ranks, which runs as a short job in their "
      "image");
  verb->add_option("--wait", check->wait, "Time limit until the ranks of the all-reduce run (default 300)")
      ->check(CLI::Range(1, 86'400))
      ->option_text("SECONDS");
  add_output(*verb, check->form, text_json, "Output format");
  add_connection(*verb, check->common.connection);
}

/// A command for one existing job.
std::shared_ptr<commands::TrainOptions> add_named(
    CLI::App& group, const char* name, const char* says, Global& global, Verb& chosen,
    base::Result<commands::Outcome> (*does)(const commands::TrainOptions&, commands::Io&)) {
  auto* verb = group.add_subcommand(name, says);
  const auto options = add_verb<commands::TrainOptions>(*verb, global, chosen, common_of, does);
  verb->add_option("NAME", options->name, "Name of the job")->required()->option_text(" ");
  add_hosts(*verb, options->hosts);
  add_namespace(*verb, options->space, "Namespace of the job (default: default)");
  add_connection(*verb, options->common.connection);
  return options;
}

}  // namespace

void add_train(CLI::App& root, Global& global, Verb& chosen) {
  auto* group =
      root.add_subcommand("train", "Run training jobs of several ranks, and show, stop and resume them")
          ->require_subcommand(0, 1)
          ->fallthrough();
  add_run(*group, global, chosen);
  add_check(*group, global, chosen);
  const auto status =
      add_named(*group, "status", "Show the ranks of a training job", global, chosen, commands::train_status);
  add_output(*group->get_subcommand("status"), status->form, text_json, "Output format");
  const auto logs = add_named(*group, "logs", "Show the logs of the ranks of a training job", global, chosen,
                              commands::train_logs);
  auto* verb = group->get_subcommand("logs");
  verb->add_flag("--follow", logs->follow, "Continue until the job ends");
  verb->add_option("--rank", logs->rank, "Only this rank")->check(CLI::Range(0, 10'000))->option_text("RANK");
  const auto stop = add_named(*group, "stop", "End a training job and delete its objects; volumes are kept",
                              global, chosen, commands::train_stop);
  group->get_subcommand("stop")->add_flag("--keep", stop->keep, "Keep its objects for gpuadm train resume");
  const auto resume =
      add_named(*group, "resume", "Start a training job that has ended again, from its checkpoints", global,
                chosen, commands::train_resume);
  add_start(*group->get_subcommand("resume"), resume->wait, resume->detach);
  verb = group->add_subcommand("list", "List training jobs");
  const auto list = add_verb<commands::TrainOptions>(*verb, global, chosen, common_of, commands::train_list);
  add_hosts(*verb, list->hosts);
  add_namespace(*verb, list->space, "Only jobs of this namespace");
  add_output(*verb, list->form, text_json, "Output format");
  add_connection(*verb, list->common.connection);
}

}  // namespace commands
