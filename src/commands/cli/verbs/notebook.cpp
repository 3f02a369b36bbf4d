#include "commands/cli/verbs/notebook.hpp"

#include "commands/cli/options.hpp"
#include "commands/workloads/workload.hpp"

#include <memory>

namespace commands {

namespace {

constexpr int longest_wait = 86400;

void add_wait(CLI::App& verb, std::chrono::seconds& patience, const char* says) {
  verb.add_option_function<int>(
          "--wait-timeout", [&patience](int seconds) { patience = std::chrono::seconds(seconds); }, says)
      ->check(CLI::Range(1, longest_wait))
      ->option_text("SECONDS");
}

/// NAME, the hosts and the connection.
void add_notebook_options(CLI::App& verb, commands::NotebookOptions& options) {
  verb.add_option("NAME", options.name, "Name of the notebook")->required()->option_text(" ");
  add_hosts(verb, options.hosts);
  add_namespace(verb, options.space);
  add_connection(verb, options.common.connection);
}

void add_request(CLI::App& verb, workload::NotebookRequest& request) {
  const auto add = [&](const char* name, std::string& value, const char* text, const char* says) {
    verb.add_option(name, value, says)->option_text(text);
  };
  add("--gpus", request.gpus, "GPUS",
      "Number of GPUs, a share such as 1/4, or MIG instances such as 1g.10gb or 1g.10gb:2 (default 0)");
  add("--image", request.image, "IMAGE",
      "pytorch, tensorflow, or a reference (default pytorch, for the CUDA version of the drivers)");
  add("--storage", request.storage, "NAME",
      "PersistentVolumeClaim for files; with --size: storage (gpuadm storage list) or StorageClass of a new "
      "one");
  add("--size", request.size, "SIZE", "Create a volume of this size for files, such as 10Gi");
  add("--mount", request.mount, "DIR",
      "Directory of the volume in the container (default /home/jovyan/work)");
  add("--cpus", request.cpus, "CPUS", "CPUs to reserve, also the limit (default: no limit)");
  add("--memory", request.memory, "SIZE", "Memory to reserve, also the limit (default: no limit)");
  add("--shm", request.shm, "SIZE",
      "Size of /dev/shm (default: half of --memory, or of the smallest suitable node's memory, at most "
      "64Gi)");
}

void add_create(CLI::App& group, Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand(
      "create",
      "Create a notebook with GPUs, and wait until it is ready: gpuadm notebook create NAME [-- COMMAND]");
  const auto options = std::make_shared<commands::NotebookCreateOptions>();
  verb->add_option("NAME", options->request.name, "Name of the notebook")->required()->option_text(" ");
  add_hosts(*verb, options->hosts);
  add_request(*verb, options->request);
  auto* node_port = verb->add_flag_callback(
      "--node-port", [options] { options->request.reach = workload::Reach::node_port; },
      "Open a port for the notebook on every node, without a tunnel and without encryption");
  verb->add_flag("--tunnel", options->tunnel,
                 "Open an SSH tunnel once it is ready, as gpuadm notebook url does")
      ->excludes(node_port);
  add_namespace(*verb, options->request.space);
  add_wait(*verb, options->patience, "Time limit until it is ready (default 1800)");
  verb->add_flag("--keep", options->keep, "Keep a notebook that does not become ready");
  verb->add_option_function<std::string>(
          "-o,--output", [options](const std::string& name) { options->yaml = name == "yaml"; },
          "yaml: print the objects, with a new token, instead of creating them")
      ->check(CLI::IsMember({"text", "yaml"}))
      ->option_text("text|yaml");
  verb->add_flag("--offline", options->offline, "With -o yaml: connect to no host");
  add_connection(*verb, options->common.connection);
  verb->fallthrough();
  verb->final_callback([options, &global, &chosen] {
    chosen = [options, &global](commands::Io& io) {
      options->common.assets = global.assets;
      options->request.command = global.command;
      return commands::notebook_create(*options, io);
    };
  });
}

void add_list_verb(CLI::App& group, const char* says, const char* kind, Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand("list", says);
  const auto options = add_verb(
      *verb, global, chosen, [](commands::WorkloadListOptions& of) -> commands::Common& { return of.common; },
      commands::workload_list);
  options->kind = kind;
  add_hosts(*verb, options->hosts);
  add_namespace(*verb, options->space, "Only this namespace (default: all)");
  add_format(*verb, options->format);
  add_connection(*verb, options->common.connection);
}

constexpr auto common_of_notebook = [](auto& of) -> commands::Common& { return of.notebook.common; };

void add_url(CLI::App& group, Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand(
      "url",
      "Print the address of a notebook with its token, and keep an SSH tunnel to it open until Ctrl-C");
  const auto options = add_verb(*verb, global, chosen, common_of_notebook, commands::notebook_url);
  add_notebook_options(*verb, options->notebook);
  verb->add_option("--local-port", options->port, "Port on this machine (default: any that is free)")
      ->check(CLI::Range(1, 65535))
      ->option_text("PORT");
  add_wait(*verb, options->patience, "Time limit until it is ready, if it is starting (default 600)");
}

void add_start_and_stop(CLI::App& group, Global& global, Verb& chosen) {
  auto* stop = group.add_subcommand("stop", "Stop a notebook: its GPUs are free, its volume is kept");
  add_notebook_options(
      *stop,
      *add_verb(
          *stop, global, chosen, [](commands::NotebookOptions& of) -> commands::Common& { return of.common; },
          commands::notebook_stop));
  auto* start = group.add_subcommand("start", "Start a stopped notebook");
  const auto options = add_verb(*start, global, chosen, common_of_notebook, commands::notebook_start);
  add_notebook_options(*start, options->notebook);
  add_wait(*start, options->patience, "Time limit until it is ready (default 1800)");
}

void add_delete(CLI::App& group, Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand("delete", "Delete a notebook, and its volume if you confirm it");
  const auto options = add_verb(*verb, global, chosen, common_of_notebook, commands::notebook_delete);
  add_notebook_options(*verb, options->notebook);
  auto* keep = verb->add_flag_callback(
      "--keep-volume", [options] { options->volume = commands::VolumeFate::keep; },
      "Keep the volume: a new notebook of this name uses it");
  verb->add_flag_callback(
          "--purge", [options] { options->volume = commands::VolumeFate::purge; },
          "Also delete the volume, without asking")
      ->excludes(keep);
}

}  // namespace

void add_notebook(CLI::App& root, Global& global, Verb& chosen) {
  auto* notebook = root.add_subcommand("notebook", "Run Jupyter notebooks on GPUs of a cluster")
                       ->require_subcommand(0, 1)
                       ->fallthrough();
  add_create(*notebook, global, chosen);
  add_list_verb(*notebook, "List notebooks with their GPUs, node and state", "notebook", global, chosen);
  add_url(*notebook, global, chosen);
  add_start_and_stop(*notebook, global, chosen);
  add_delete(*notebook, global, chosen);
  auto* workload = root.add_subcommand("workload", "List what gpuadm runs on a cluster")
                       ->require_subcommand(0, 1)
                       ->fallthrough();
  add_list_verb(*workload, "List notebooks, training jobs and storage claims that gpuadm created", "", global,
                chosen);
}

}  // namespace commands
