#include "cli/verbs.hpp"

#include "cli/bundle.hpp"
#include "cli/cluster.hpp"
#include "cli/connection.hpp"
#include "cli/gpu.hpp"
#include "cli/operate.hpp"
#include "cli/options.hpp"
#include "cli/upgrade.hpp"
#include "cli/upkeep.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace cli {
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
    add_upkeep(root_, global_, chosen_);
    add_operate(root_, global_, chosen_);
    add_upgrade(root_, global_, chosen_);
    add_bundle(root_, global_, chosen_);
  }

 private:
  template <class Call>
  void on(CLI::App* verb, Call call) {
    verb->fallthrough();
    verb->final_callback([&chosen = chosen_, call = std::move(call)] { chosen = call; });
  }

  /// A verb that connects to hosts: its own options, then those of every such verb.
  template <class Options>
  std::shared_ptr<Options> hosts_verb(CLI::App* verb,
                                      base::Result<app::Outcome> (*does)(const Options&, app::Io&)) {
    auto options = std::make_shared<Options>();
    add_hosts(*verb, options->hosts);
    add_connection(*verb, options->common.connection);
    on(verb, [options, does, &global = global_](app::Io& io) {
      options->common.assets = global.assets;
      return does(*options, io);
    });
    return options;
  }

  void add_init() {
    auto* verb = root_.add_subcommand("init", "Turn a machine into a Kubernetes cluster");
    const auto options = hosts_verb(verb, app::init);
    add_raising(*verb, *options);
  }

  void add_doctor() {
    auto* verb = root_.add_subcommand("doctor", "Say what stands in the way, and what to do about it");
    const auto options = hosts_verb(verb, app::doctor);
    options->stage.clear();  // what each host is decides
    verb->add_flag("--list", options->list, "Show every check, and connect to nothing");
    add_list(*verb, "--only", options->only, "ID,...", "Only these checks; gpu. means all below it");
    add_list(*verb, "--skip", options->skip, "ID,...", "All but these checks");
    verb->add_option("--stage", options->stage,
                     "preflight: before an installation; node: on a machine that is in a cluster; "
                     "cluster: what the control plane says of all of them; default: what fits each host")
        ->check(CLI::IsMember({"preflight", "node", "cluster"}))
        ->option_text("STAGE");
    verb->add_option_function<std::string>(
            "--fail-on",
            [options](const std::string& name) {
              options->fail_on.reset();
              for (const auto severity : severities)
                if (name == report::name_of(severity)) options->fail_on = severity;
            },
            "The lightest finding that makes it exit 3 (blocker)")
        ->check(CLI::IsMember({"blocker", "warning", "note", "never"}))
        ->option_text("SEVERITY");
    verb->add_option("--baseline", options->baseline, "Show only what is new since this findings.json")
        ->option_text("FILE");
    verb->add_option("--bundle", options->bundle,
                     "Check an installation from this bundle, a folder or an archive")
        ->option_text("DIR|FILE");
    verb->add_option("--record", options->record,
                     "Save what was read there, without secrets and with names and addresses replaced")
        ->option_text("DIR");
    verb->add_option("--from", options->from, "Judge what was recorded there, and connect to nothing")
        ->option_text("DIR");
    verb->add_option_function<std::string>(
            "--demo", [options](const std::string& name) { options->demo = name; },
            "Judge a machine with this fault, of which gpuadm has a recording; without a name: show them all")
        ->expected(0, 1)
        ->option_text("[NAME]");
    verb->add_flag(
            "--watch{10}", options->watch,
            "Look again every so many seconds (--watch=10) until Ctrl-C: on a terminal in place, else what "
            "changed, a line each")
        ->option_text("[=SECONDS]")
        ->check(CLI::Range(1, 86400));
    auto names = text_or_json;
    names.insert({{"junit", app::Format::junit},
                  {"html", app::Format::html},
                  {"prometheus", app::Format::prometheus}});
    add_format(*verb, options->format, names);
    auto* fix = verb->add_flag("--fix", options->fix,
                               "Mend what has a safe fix: nothing that needs a reboot, a drain, or a restart "
                               "under pods; gpuadm undo takes it back");
    add_consent(*verb, options->consent);
    for (const char* name : {"--dry-run", "--yes"}) verb->get_option(name)->needs(fix);
  }

  void add_verify() {
    auto* verb = root_.add_subcommand("verify", "Prove that pods compute on every GPU, link by link");
    const auto options = hosts_verb(verb, app::verify);
    add_list(
        *verb, "--only", options->only, "LINK,...",
        "Only these of driver, nvml, cdi, runtime, plugin, allocatable, scheduling, pod, compute, reload");
    verb->add_flag("--allow-none", options->allow_none, "A cluster without a GPU is no failure");
    add_format(*verb, options->format);
    verb->add_flag_callback(
        "--json", [options] { options->format = app::Format::json; }, "The same as -o json");
  }

  void add_undo() {
    auto* verb =
        root_.add_subcommand("undo", "Take back what the last run changed, as each host's journal tells");
    const auto options = hosts_verb(verb, app::undo);
    auto* run = verb->add_option("--run", options->run, "This run and no other")->option_text("RUN");
    verb->add_flag("--all", options->all, "Every run that the journal knows")->excludes(run);
    verb->add_flag("--force", options->force, "Put back also what somebody else has changed since");
    add_consent(*verb, options->consent);
    add_format(*verb, options->format);
  }

  void add_reset() {
    auto* verb = root_.add_subcommand(
        "reset", "Take nodes out of their cluster, and give the hosts back as they were before gpuadm");
    const auto options = hosts_verb(verb, app::reset);
    verb->add_flag("--force", options->force,
                   "Also a cluster that gpuadm did not make, and what somebody else has changed since");
    verb->add_flag("--keep-images", options->keep_images, "Images of the cluster stay");
    verb->add_flag("--keep-driver", options->keep_driver, "The NVIDIA driver that gpuadm installed stays");
    add_consent(*verb, options->consent);
    add_format(*verb, options->format);
  }

  void add_support() {
    auto* verb = root_.add_subcommand("support", "Make one archive for somebody who is to help");
    const auto options = hosts_verb(verb, app::support);
    verb->add_option("-o,--output", options->output, "The archive, a .tar.gz that is not there yet")
        ->option_text("FILE");
    verb->add_option("--lines", options->lines, "How many lines of each log (500)")
        ->check(CLI::Range(1, 5000))
        ->option_text("NUMBER");
  }

  void add_facts() {
    auto* verb = root_.add_subcommand("facts", "Show what machines are");
    const auto options = hosts_verb(verb, app::facts);
    auto names = text_or_json;
    names.emplace("probe", app::Format::probe);
    add_format(*verb, options->format, names);
  }

  void add_playbook() {
    auto* group = add_group("playbook", "Run steps of your own on the same engine");
    auto* verb = group->add_subcommand("run", "Run a playbook");
    const auto options = std::make_shared<app::PlaybookOptions>();
    verb->add_option("PLAYBOOK", options->playbook, "The playbook")->required()->option_text("FILE");
    add_hosts(*verb, options->hosts);
    add_consent(*verb, options->consent);
    add_reboots(*verb, options->reboots);
    add_format(*verb, options->format);
    add_connection(*verb, options->common.connection);
    on(verb, [options, &global = global_](app::Io& io) {
      options->common.assets = global.assets;
      return app::run_playbook(*options, io);
    });
  }

  void add_runtime() {
    auto* group = add_group("runtime", "The container runtime's configuration");
    auto* configure =
        group->add_subcommand("configure", "Make it serve Kubernetes and GPUs, and do nothing else");
    const auto where = hosts_verb(configure, app::runtime_configure);
    add_consent(*configure, where->consent);
    add_format(*configure, where->format);
    auto* verb =
        group->add_subcommand("preview", "Show what would be written, and what the runtime reads then");
    const auto options = std::make_shared<app::RuntimePreviewOptions>();
    verb->add_option("--engine", options->engine, "containerd, docker or crio (containerd)")
        ->check(CLI::IsMember({"containerd", "docker", "crio"}))
        ->option_text("ENGINE");
    verb->add_option("--config", options->config, "Its configuration; without it there is none")
        ->option_text("FILE");
    verb->add_option("--imports", options->imports, "A folder with what the configuration imports")
        ->option_text("DIR");
    verb->add_option("--engine-version", options->engine_version, "For example 1.7.24")
        ->option_text("VERSION");
    verb->add_option("--kubernetes-version", options->kubernetes_version, "For example 1.34 or 1.34.2")
        ->option_text("VERSION");
    verb->add_option("-f,--file", options->cluster, "A cluster file")->option_text("FILE");
    add_format(*verb, options->format);
    on(verb, [options, &global = global_](app::Io& io) {
      options->common.assets = global.assets;
      return app::runtime_preview(*options, io);
    });
  }

  void add_config() {
    struct Options {
      std::filesystem::path file;
      app::Format format = app::Format::text;
    };
    auto* group = add_group("config", "The cluster file");
    const auto options = std::make_shared<Options>();
    const auto add = [&](const char* name, const char* says, auto call) {
      auto* verb = group->add_subcommand(name, says);
      add_format(*verb, options->format);
      on(verb, std::move(call));
      return verb;
    };
    const auto add_file = [&](CLI::App* verb) {
      verb->add_option("-f,--file,FILE", options->file, "The cluster file")->required()->option_text("FILE");
    };
    const auto keys = std::make_shared<std::vector<std::string>>();
    add("explain", "What keys mean, with type and default", [options, keys](app::Io& io) {
      return app::config_explain(*keys, options->format, io);
    })->add_option("KEY", *keys, "network.podCIDR, or network for all below it; none: every key");
    auto* lint =
        add("lint", "Check a file, its feature gates and flags against its version; also called validate",
            [options, &global = global_](app::Io& io) {
              return app::config_lint({.assets = global.assets, .connection = {}}, options->file,
                                      options->format, io);
            });
    lint->alias("validate");
    add_file(lint);
    on(group->add_subcommand("schema", "The file as JSON Schema, by which editors complete and check it"),
       [](app::Io& io) { return app::config_schema(io); });
    add_config_init(*group);
    auto* migrate =
        group->add_subcommand("migrate", "Rewrite a file of an older format; comments and order stay");
    const auto dry_run = std::make_shared<bool>(false);
    add_file(migrate);
    migrate->add_flag("--dry-run", *dry_run, "Show the difference, and write nothing");
    on(migrate, [options, dry_run](app::Io& io) {
      return app::config_migrate(options->file, *dry_run ? app::Writes::no : app::Writes::yes, io);
    });
    add_file(add("show", "A file completed with every default",
                 [options](app::Io& io) { return app::config_show(options->file, options->format, io); }));
  }

  void add_config_init(CLI::App& group) {
    auto* verb = group.add_subcommand("init", "Write a file with comments from what hosts are");
    const auto options = std::make_shared<app::ConfigInitOptions>();
    verb->add_option("TARGET", options->hosts.targets, "[user@]host[:port]; none: this machine");
    verb->add_option("--from", options->from, "Read what was recorded there, and connect to nothing")
        ->option_text("DIR");
    verb->add_option("--name", options->name, "The cluster's name (gpuadm)")->option_text("NAME");
    verb->add_option("-o,--output", options->output, "The file, which is not there yet; else it is printed")
        ->option_text("FILE");
    add_connection(*verb, options->common.connection);
    on(verb, [options, &global = global_](app::Io& io) {
      options->common.assets = global.assets;
      return app::config_init(*options, io);
    });
  }

  void add_assets() {
    auto* group = add_group("assets", "Playbooks, templates and data, and what replaces them");
    const auto argument = std::make_shared<std::string>();
    const auto common = [&global = global_] {
      return app::Common{.assets = global.assets, .connection = {}};
    };
    on(group->add_subcommand("list", "Every asset and where it comes from"),
       [common](app::Io& io) { return app::assets_list(common(), io); });
    on(group->add_subcommand("diff", "What overrides change"),
       [common](app::Io& io) { return app::assets_diff(common(), io); });
    auto* show = group->add_subcommand("show", "One asset");
    show->add_option("PATH", *argument, "As in the list")->required()->option_text(" ");
    on(show, [=](app::Io& io) { return app::assets_show(common(), *argument, io); });
    auto* write = group->add_subcommand("export", "Write all of them to a folder");
    write->add_option("DIR", *argument, "Empty or missing")->required()->option_text(" ");
    on(write, [=](app::Io& io) { return app::assets_export(common(), *argument, io); });
  }

  void add_explain() {
    auto* verb = root_.add_subcommand("explain", "What a check looks at, why, and what mends it");
    const auto options = std::make_shared<app::ExplainOptions>();
    verb->add_option("ID", options->ids, "As in `gpuadm doctor --list`; gpu. means all below it")
        ->required()
        ->option_text("...");
    auto names = text_or_json;
    names.emplace("markdown", app::Format::markdown);
    add_format(*verb, options->format, names);
    on(verb, [options, &global = global_](app::Io& io) {
      options->common.assets = global.assets;
      return app::explain(*options, io);
    });

    auto* version = root_.add_subcommand("version", "Which gpuadm this is");
    const auto format = std::make_shared<app::Format>();
    add_format(*version, *format);
    on(version, [format, &global = global_](app::Io& io) {
      return app::version({.assets = global.assets, .connection = {}}, *format, io);
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

}  // namespace cli
