#include "commands/cli/verbs/operate.hpp"

#include "commands/cli/options.hpp"
#include "commands/inspect/dashboard/dashboard.hpp"
#include "commands/inspect/status.hpp"
#include "commands/operate/exec.hpp"
#include "commands/operate/kubeconfig.hpp"

#include <map>
#include <memory>

namespace commands {

namespace {

void add_status(CLI::App& root, Global& global, Verb& chosen) {
  static const std::map<std::string, commands::StatusForm> forms = {{"text", commands::StatusForm::text},
                                                                    {"wide", commands::StatusForm::wide},
                                                                    {"json", commands::StatusForm::json},
                                                                    {"yaml", commands::StatusForm::yaml}};
  auto* verb = root.add_subcommand(
      "status", "Show the state of a cluster: nodes, control plane, etcd, network, certificates, GPUs");
  const auto options = add_verb<commands::StatusOptions>(*verb, global, chosen, common_of, commands::status);
  add_hosts(*verb, options->hosts);
  verb->add_option("--from", options->from, "Read a recording instead of connecting to hosts")
      ->option_text("DIR");
  verb->add_flag("--watch{5}", options->watch,
                 "Repeat every N seconds (default 5) until Ctrl-C, in place on a terminal")
      ->option_text("[=SECONDS]")
      ->check(CLI::Range(1, 86400));
  verb->add_option_function<std::string>(
          "-o,--output", [options](const std::string& name) { options->form = forms.at(name); },
          "Output format; text fits 80 columns")
      ->option_text("text|wide|json|yaml")
      ->check(CLI::IsMember(forms));
  add_connection(*verb, options->common.connection);
}

void add_dashboard(CLI::App& root, Global& global, Verb& chosen) {
  auto* verb = root.add_subcommand(
      "dashboard", "Show hosts, GPUs with plots, workloads and problems as a page in a browser");
  const auto options =
      add_verb<commands::DashboardOptions>(*verb, global, chosen, common_of, commands::dashboard);
  add_hosts(*verb, options->hosts);
  auto* port =
      verb->add_option("--local-port", options->port, "Port on this machine (default: any that is free)")
          ->option_text("PORT")
          ->check(CLI::Range(1, 65535));
  verb->add_option("--interval", options->interval, "Seconds between two samples of the GPUs (default 2)")
      ->option_text("SECONDS")
      ->check(CLI::Range(1, 3600));
  auto* count = verb->add_option("--count", options->count, "With -o html: number of samples (default 1)")
                    ->option_text("N")
                    ->check(CLI::Range(1, 1'000'000));
  auto* output =
      verb->add_option_function<std::string>(
              "-o,--output", [options](const std::string&) { options->format = commands::Format::html; },
              "Write the page with its data to standard output instead of serving it")
          ->option_text("html")
          ->check(CLI::IsMember({"html"}))
          ->excludes(port);
  count->needs(output);
  add_connection(*verb, options->common.connection);
}

void add_kubeconfig(CLI::App& root, Global& global, Verb& chosen) {
  auto* verb = root.add_subcommand("kubeconfig", "Merge a cluster's credentials into your kubeconfig");
  const auto options =
      add_verb<commands::KubeconfigOptions>(*verb, global, chosen, common_of, commands::kubeconfig);
  add_hosts(*verb, options->hosts);
  auto* output = verb->add_option("--output", options->output, "Write to this file instead of merging")
                     ->option_text("FILE");
  verb->add_flag("--merge", options->merge,
                 "Merge into the first file of $KUBECONFIG, otherwise ~/.kube/config (default)")
      ->excludes(output);
  verb->add_option("--context", options->context, "Name of the context (default: name of the cluster)")
      ->option_text("NAME");
  verb->add_flag("--keep-context", options->keep_context, "Do not change the current context");
  add_connection(*verb, options->common.connection);
}

void add_exec(CLI::App& root, Global& global, Verb& chosen) {
  auto* verb =
      root.add_subcommand("exec", "Run a command on hosts as root: gpuadm exec [HOST...] -- COMMAND");
  const auto options = std::make_shared<commands::ExecOptions>();
  add_hosts(*verb, options->hosts);
  verb->add_flag("--raw", options->raw, "Do not escape control characters");
  add_format(*verb, options->format);
  add_connection(*verb, options->common.connection);
  verb->fallthrough();
  verb->final_callback([options, &global, &chosen] {
    chosen = [options, &global](commands::Io& io) {
      options->common.assets = global.assets;
      options->command = global.command;
      return commands::exec(*options, io);
    };
  });
}

void add_logs(CLI::App& root, Global& global, Verb& chosen) {
  auto* verb = root.add_subcommand("logs", "Show the last lines of a log on hosts");
  const auto options = add_verb<commands::LogsOptions>(*verb, global, chosen, common_of, commands::logs);
  verb->add_option("WHAT", options->what,
                   "systemd unit (kubelet, containerd, ...), or kube-apiserver, kube-controller-manager, "
                   "kube-scheduler, kube-proxy, etcd")
      ->required()
      ->option_text(" ");
  add_hosts(*verb, options->hosts);
  verb->add_option("--since", options->since, "Only newer entries: 10m, 2h, 1d")->option_text("TIME");
  verb->add_option("-n,--lines", options->lines, "Lines per host (default 100)")
      ->check(CLI::Range(1, 100'000))
      ->option_text("NUMBER");
  verb->add_flag("--raw", options->raw, "Do not escape control characters");
  add_format(*verb, options->format);
  add_connection(*verb, options->common.connection);
}

void add_copy(CLI::App& root, Global& global, Verb& chosen) {
  auto* verb = root.add_subcommand("cp", "Copy a file to hosts: gpuadm cp FILE --to PATH [HOST...]");
  const auto options = add_verb<commands::CopyOptions>(*verb, global, chosen, common_of, commands::copy);
  verb->add_option("FILE", options->file, "Local file; its mode is kept")->required()->option_text(" ");
  add_hosts(*verb, options->hosts);
  verb->add_option("--to", options->to, "Destination path; PATH/ is a directory")
      ->required()
      ->option_text("PATH");
  verb->add_flag_callback(
      "--dry-run", [options] { options->consent = commands::Consent::preview; },
      "Show what would change without changing anything");
  add_format(*verb, options->format);
  add_connection(*verb, options->common.connection);
}

}  // namespace

void add_operate(CLI::App& root, Global& global, Verb& chosen) {
  add_status(root, global, chosen);
  add_dashboard(root, global, chosen);
  add_kubeconfig(root, global, chosen);
  add_exec(root, global, chosen);
  add_logs(root, global, chosen);
  add_copy(root, global, chosen);
}

}  // namespace commands
