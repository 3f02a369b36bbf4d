#include "commands/cli/verbs/verbs.hpp"

#include "commands/cli/connection.hpp"
#include "commands/cli/options.hpp"
#include "commands/cli/verbs/addon.hpp"
#include "commands/cli/verbs/bundle.hpp"
#include "commands/cli/verbs/cluster.hpp"
#include "commands/cli/verbs/gpu.hpp"
#include "commands/cli/verbs/health.hpp"
#include "commands/cli/verbs/notebook.hpp"
#include "commands/cli/verbs/operate.hpp"
#include "commands/cli/verbs/storage.hpp"
#include "commands/cli/verbs/train.hpp"
#include "commands/cli/verbs/upgrade.hpp"
#include "commands/cli/verbs/upkeep.hpp"
#include "commands/inspect/explain_pod_command.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace commands {
namespace {

constexpr report::Severity severities[] = {report::Severity::blocker, report::Severity::warning,
                                           report::Severity::note};

class Verbs {
 public:
  Verbs(CLI::App& root, Global& global, Verb& chosen) : root_(root), global_(global), chosen_(chosen) {}

  void add_all() {
    add_init();
    add_doctor();
    add_verify();
    add_undo();
    add_reset();
    add_support();
    add_facts();
    add_playbook();
    add_runtime();
    add_config();
    add_assets();
    add_explain();
    add_cluster(root_, global_, chosen_);
    add_gpu(root_, global_, chosen_);
    add_health(root_, global_, chosen_);
    add_storage(root_, global_, chosen_);
    add_addon(root_, global_, chosen_);
    add_train(root_, global_, chosen_);
    add_upkeep(root_, global_, chosen_);
    add_operate(root_, global_, chosen_);
    add_notebook(root_, global_, chosen_);
    add_upgrade(root_, global_, chosen_);
    add_bundle(root_, global_, chosen_);
  }

 private:
  template <class Call>
  void on(CLI::App* verb, Call call) {
    verb->fallthrough();
    verb->final_callback([&chosen = chosen_, call = std::move(call)] { chosen = call; });
  }

  /// A command that connects to hosts: its own options, then the common ones.
  template <class Options>
  std::shared_ptr<Options> hosts_verb(CLI::App* verb,
                                      base::Result<commands::Outcome> (*does)(const Options&,
                                                                              commands::Io&)) {
    auto options = std::make_shared<Options>();
    add_hosts(*verb, options->hosts);
    add_connection(*verb, options->common.connection);
    on(verb, [options, does, &global = global_](commands::Io& io) {
      options->common.assets = global.assets;
      return does(*options, io);
    });
    return options;
  }

  void add_init() {
    auto* verb = root_.add_subcommand("init", "Create a single-node Kubernetes cluster on a host");
    const auto options = hosts_verb(verb, commands::init);
    add_bring_up(*verb, *options, global_);
  }

  void add_doctor() {
    auto* verb =
        root_.add_subcommand("doctor", "Check hosts and clusters, and show how to fix what is wrong");
    const auto options = hosts_verb(verb, commands::doctor);
    options->stage.clear();  // each host's state decides
    verb->add_flag("--list", options->list, "List all checks without connecting to any host");
    add_list(*verb, "--only", options->only, "ID,...",
             "Run only these checks; a prefix such as gpu selects a group");
    add_list(*verb, "--skip", options->skip, "ID,...", "Skip these checks");
    verb->add_option("--stage", options->stage,
                     "preflight: before installation; node: hosts that are nodes; "
                     "cluster: the cluster as seen by its control plane; security: the CIS Kubernetes "
                     "Benchmark; default: what applies to each host, without security")
        ->check(CLI::IsMember({"preflight", "node", "cluster", "security"}))
        ->option_text("STAGE");
    verb->add_option_function<std::vector<std::string>>(
            "--fail-on",
            [options](const std::vector<std::string>& names) {
              for (const std::string& name : names) {
                if (name == "unknown") options->fail_on_unknown = true;
                if (name == "never") options->fail_on.reset();
                for (const auto severity : severities)
                  if (name == report::name_of(severity)) options->fail_on = severity;
              }
            },
            "Lowest severity that causes exit code 3 (default blocker); add unknown to include "
            "results that could not be determined")
        ->check(CLI::IsMember({"blocker", "warning", "note", "never", "unknown"}))
        ->delimiter(',')
        ->allow_extra_args(false)
        ->option_text("SEVERITY[,unknown]");
    verb->add_option("--baseline", options->baseline, "Show only findings that are not in this findings.json")
        ->option_text("FILE");
    verb->add_option("--bundle", options->bundle,
                     "Check for an installation from this bundle (directory or archive)")
        ->option_text("DIR|FILE");
    verb->add_option("--record", options->record,
                     "Save the collected data, without secrets and with names and addresses replaced")
        ->option_text("DIR");
    verb->add_option("--from", options->from, "Check a recording instead of connecting to hosts")
        ->option_text("DIR");
    verb->add_option_function<std::string>(
            "--demo", [options](const std::string& name) { options->demo = name; },
            "Check a built-in recording of a host with this fault; without a name: list them")
        ->expected(0, 1)
        ->option_text("[NAME]");
    verb->add_flag("--watch{10}", options->watch,
                   "Repeat every N seconds (default 10) until Ctrl-C: in place on a terminal, otherwise "
                   "one line per change")
        ->option_text("[=SECONDS]")
        ->check(CLI::Range(1, 86400));
    auto names = text_or_json;
    names.insert({{"junit", commands::Format::junit},
                  {"html", commands::Format::html},
                  {"prometheus", commands::Format::prometheus}});
    add_format(*verb, options->format, names);
    auto* fix =
        verb->add_flag("--fix", options->fix,
                       "Apply safe fixes: none that needs a reboot, a drain, or a restart of running pods; "
                       "gpuadm undo reverts them");
    add_consent(*verb, options->consent, global_);
    for (const char* name : {"--dry-run", "--yes", "--diff"}) verb->get_option(name)->needs(fix);
  }

  void add_verify() {
    auto* verb =
        root_.add_subcommand("verify", "Test the cluster network and run computations on every GPU in pods");
    const auto options = hosts_verb(verb, commands::verify);
    add_list(*verb, "--only", options->only, "LINK,...",
             "Test only these of network, dns, driver, nvml, cdi, runtime, plugin, allocatable, scheduling, "
             "pod, compute, reload");
    // A cluster without GPUs is not a failure any more; scripts may still use it.
    verb->add_flag("--allow-none")->group("");
    add_format(*verb, options->format);
    verb->add_flag_callback(
        "--json", [options] { options->format = commands::Format::json; }, "Same as -o json");
  }

  void add_undo() {
    auto* verb = root_.add_subcommand(
        "undo", "Revert the changes of the last run, as recorded in each host's journal");
    const auto options = hosts_verb(verb, commands::undo);
    auto* run = verb->add_option("--run", options->run, "Revert only this run")->option_text("RUN");
    verb->add_flag("--all", options->all, "Revert every run in the journal")->excludes(run);
    verb->add_flag("--force", options->force, "Also restore what was changed by others since");
    add_consent(*verb, options->consent, global_);
    add_format(*verb, options->format);
  }

  void add_reset() {
    auto* verb =
        root_.add_subcommand("reset", "Remove Kubernetes from hosts and restore their state before gpuadm");
    const auto options = hosts_verb(verb, commands::reset);
    verb->add_flag("--force", options->force,
                   "Also reset clusters not created by gpuadm, or with workloads that run or cannot be read, "
                   "and restore what was changed by others since");
    verb->add_flag("--keep-images", options->keep_images, "Keep the cluster's container images");
    verb->add_flag("--keep-driver", options->keep_driver, "Keep the NVIDIA driver that gpuadm installed");
    add_consent(*verb, options->consent, global_);
    add_format(*verb, options->format);
  }

  void add_support() {
    auto* verb =
        root_.add_subcommand("support", "Collect logs, facts and findings in one archive, without secrets");
    const auto options = hosts_verb(verb, commands::support);
    verb->add_option("-o,--output", options->output, "Archive to create (.tar.gz); must not exist")
        ->option_text("FILE");
    verb->add_option("--lines", options->lines, "Lines of each log (default 500)")
        ->check(CLI::Range(1, 5000))
        ->option_text("NUMBER");
  }

  void add_facts() {
    auto* verb = root_.add_subcommand("facts", "Show hardware, software and configuration of hosts");
    const auto options = hosts_verb(verb, commands::facts);
    auto names = text_or_json;
    names.emplace("probe", commands::Format::probe);
    add_format(*verb, options->format, names);
  }

  void add_playbook() {
    auto* group = add_group("playbook", "Run your own playbooks");
    auto* verb = group->add_subcommand("run", "Run a playbook");
    const auto options = std::make_shared<commands::PlaybookOptions>();
    verb->add_option("PLAYBOOK", options->playbook, "Playbook file")->required()->option_text("FILE");
    add_hosts(*verb, options->hosts);
    add_consent(*verb, options->consent, global_);
    add_reboots(*verb, options->reboots);
    add_format(*verb, options->format);
    add_connection(*verb, options->common.connection);
    on(verb, [options, &global = global_](commands::Io& io) {
      options->common.assets = global.assets;
      return commands::run_user_playbook(*options, io);
    });
  }

  void add_runtime() {
    auto* group = add_group("runtime", "Configure the container runtime");
    auto* configure = group->add_subcommand(
        "configure", "Configure the container runtime for Kubernetes and GPUs, and nothing else");
    const auto where = hosts_verb(configure, commands::runtime_configure);
    add_consent(*configure, where->consent, global_);
    add_format(*configure, where->format);
    auto* verb = group->add_subcommand("preview", "Show the configuration that would be written");
    const auto options = std::make_shared<commands::RuntimePreviewOptions>();
    verb->add_option("--engine", options->engine,
                     "Container runtime: containerd, docker or crio (default containerd)")
        ->check(CLI::IsMember({"containerd", "docker", "crio"}))
        ->option_text("ENGINE");
    verb->add_option("--config", options->config, "Current configuration file (default: none)")
        ->option_text("FILE");
    verb->add_option("--imports", options->imports, "Directory with the files that the configuration imports")
        ->option_text("DIR");
    verb->add_option("--engine-version", options->engine_version,
                     "Version of the container runtime, for example 1.7.24")
        ->option_text("VERSION");
    verb->add_option("--kubernetes-version", options->kubernetes_version,
                     "Kubernetes version, for example 1.34 or 1.34.2")
        ->option_text("VERSION");
    verb->add_option("-f,--file", options->cluster, "Cluster file")->option_text("FILE");
    add_format(*verb, options->format);
    on(verb, [options, &global = global_](commands::Io& io) {
      options->common.assets = global.assets;
      return commands::runtime_preview(*options, io);
    });
  }

  void add_config() {
    struct Options {
      std::filesystem::path file;
      commands::Format format = commands::Format::text;
    };
    auto* group = add_group("config", "Create, check and convert cluster files");
    const auto options = std::make_shared<Options>();
    const auto add = [&](const char* name, const char* says, auto call) {
      auto* verb = group->add_subcommand(name, says);
      add_format(*verb, options->format);
      on(verb, std::move(call));
      return verb;
    };
    const auto add_file = [&](CLI::App* verb) {
      verb->add_option("-f,--file,FILE", options->file, "Cluster file")->required()->option_text("FILE");
    };
    const auto keys = std::make_shared<std::vector<std::string>>();
    add("explain", "Explain keys of the cluster file, with types and defaults",
        [options, keys](commands::Io& io) { return commands::config_explain(*keys, options->format, io); })
        ->add_option("KEY", *keys,
                     "Key or prefix, for example network.podCIDR or network (default: all keys)");
    auto* lint = add("lint", "Validate a cluster file, including feature gates and flags (alias: validate)",
                     [options, &global = global_](commands::Io& io) {
                       return commands::config_lint({.assets = global.assets, .connection = {}},
                                                    options->file, options->format, io);
                     });
    lint->alias("validate");
    add_file(lint);
    on(group->add_subcommand("schema", "Print the JSON Schema of the cluster file, for editors"),
       [](commands::Io& io) { return commands::config_schema(io); });
    add_config_init(*group);
    auto* migrate = group->add_subcommand(
        "migrate", "Convert a cluster file of an older format; keeps comments and order");
    const auto dry_run = std::make_shared<bool>(false);
    add_file(migrate);
    migrate->add_flag("--dry-run", *dry_run, "Show the difference without writing");
    on(migrate, [options, dry_run](commands::Io& io) {
      return commands::config_migrate(options->file, *dry_run ? commands::Writes::no : commands::Writes::yes,
                                      io);
    });
    add_file(add("show", "Show a cluster file with all defaults", [options](commands::Io& io) {
      return commands::config_show(options->file, options->format, io);
    }));
  }

  void add_config_init(CLI::App& group) {
    auto* verb = group.add_subcommand("init", "Generate a commented cluster file from existing hosts");
    const auto options = std::make_shared<commands::ConfigInitOptions>();
    verb->add_option("TARGET", options->hosts.targets, "[user@]host[:port] (default: this machine)");
    verb->add_option("--from", options->from, "Read a recording instead of connecting to hosts")
        ->option_text("DIR");
    verb->add_option("--name", options->name, "Name of the cluster (default gpuadm)")->option_text("NAME");
    verb->add_option("-o,--output", options->output, "File to create; must not exist (default: print)")
        ->option_text("FILE");
    add_connection(*verb, options->common.connection);
    on(verb, [options, &global = global_](commands::Io& io) {
      options->common.assets = global.assets;
      return commands::config_init(*options, io);
    });
  }

  void add_assets() {
    auto* group = add_group("assets", "List, export and compare built-in playbooks, templates and data");
    const auto argument = std::make_shared<std::string>();
    const auto common = [&global = global_] {
      return commands::Common{.assets = global.assets, .connection = {}};
    };
    on(group->add_subcommand("list", "List all assets and their origin"),
       [common](commands::Io& io) { return commands::assets_list(common(), io); });
    on(group->add_subcommand("diff", "Show what overrides change"),
       [common](commands::Io& io) { return commands::assets_diff(common(), io); });
    auto* show = group->add_subcommand("show", "Print one asset");
    show->add_option("PATH", *argument, "Path as shown by list")->required()->option_text(" ");
    on(show, [=](commands::Io& io) { return commands::assets_show(common(), *argument, io); });
    auto* write = group->add_subcommand("export", "Write all assets to a directory");
    write->add_option("DIR", *argument, "Directory; must be empty or not exist")
        ->required()
        ->option_text(" ");
    on(write, [=](commands::Io& io) { return commands::assets_export(common(), *argument, io); });
  }

  void add_explain() {
    auto* verb = root_.add_subcommand("explain", "Explain a check, or why a pod does not run");
    const auto options = std::make_shared<commands::ExplainOptions>();
    verb->add_option("ID", options->ids, "Id as in `gpuadm doctor --list`, or a prefix such as gpu")
        ->option_text("...");
    auto names = text_or_json;
    names.emplace("markdown", commands::Format::markdown);
    add_format(*verb, options->format, names);
    verb->fallthrough();
    verb->final_callback([verb, options, &global = global_, &chosen = chosen_] {
      if (!verb->get_subcommands().empty()) return;
      if (options->ids.empty()) throw CLI::RequiredError("ID");
      chosen = [options, &global](commands::Io& io) {
        options->common.assets = global.assets;
        return commands::explain(*options, io);
      };
    });
    add_explain_pod(*verb);

    auto* version = root_.add_subcommand("version", "Show the version of gpuadm");
    const auto format = std::make_shared<commands::Format>();
    add_format(*version, *format);
    on(version, [format, &global = global_](commands::Io& io) {
      return commands::version({.assets = global.assets, .connection = {}}, *format, io);
    });
  }

  void add_explain_pod(CLI::App& explain) {
    auto* verb = explain.add_subcommand("pod", "Explain why a pod, notebook or training job does not run");
    const auto options = std::make_shared<commands::ExplainPodOptions>();
    verb->add_option("POD", options->pod, "Name of a pod, notebook, training job or controller")
        ->required()
        ->option_text("[NAMESPACE/]NAME");
    add_hosts(*verb, options->hosts);
    add_format(*verb, options->format);
    add_connection(*verb, options->common.connection);
    on(verb, [options, &global = global_](commands::Io& io) {
      options->common.assets = global.assets;
      return commands::explain_pod(*options, io);
    });
  }

  CLI::App* add_group(const char* name, const char* says) {
    return root_.add_subcommand(name, says)->require_subcommand(0, 1)->fallthrough();
  }

  CLI::App& root_;
  Global& global_;
  Verb& chosen_;
};

}  // namespace

void add_verbs(CLI::App& root, Global& global, Verb& chosen) {
  Verbs(root, global, chosen).add_all();
}

}  // namespace commands
