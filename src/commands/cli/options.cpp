#include "commands/cli/options.hpp"

namespace commands {

const Formats text_or_json = {{"text", commands::Format::text}, {"json", commands::Format::json}};

void add_format(CLI::App& verb, commands::Format& format, const Formats& names) {
  std::string text;
  for (const auto& [name, value] : names) text += (text.empty() ? "" : "|") + name;
  verb.add_option_function<std::string>(
          "-o,--output", [&format, names](const std::string& name) { format = names.at(name); },
          "Output format")
      ->option_text(text)
      ->check(CLI::IsMember(names));
}

void add_list(CLI::App& verb, const char* name, std::vector<std::string>& list, const char* text,
              const char* says) {
  verb.add_option(name, list, says)->delimiter(',')->allow_extra_args(false)->option_text(text);
}

CLI::Option* add_yes(CLI::App& verb, commands::Consent& consent) {
  return verb.add_flag_callback(
      "-y,--yes", [&consent] { consent = commands::Consent::given; }, "Do not ask for confirmation");
}

void add_preview(CLI::App& verb, commands::Consent& consent) {
  auto* dry_run = verb.add_flag_callback(
      "--dry-run", [&consent] { consent = commands::Consent::preview; },
      "Show what would change without changing anything");
  add_yes(verb, consent)->excludes(dry_run);
}

void add_consent(CLI::App& verb, commands::Consent& consent, Global& global) {
  add_preview(verb, consent);
  verb.add_flag("--diff", global.diff, "Show the changes of files in full before asking");
}

void add_reboots(CLI::App& verb, commands::Rebooting& reboots) {
  verb.add_flag_callback(
      "--no-reboot", [&reboots] { reboots = commands::Rebooting::left; },
      "If a host must be rebooted, stop and show the command to continue");
}

void add_namespace(CLI::App& verb, std::string& space, const char* says) {
  verb.add_option("-n,--namespace", space, says)->option_text("NAMESPACE");
}

void add_waiting(CLI::App& verb, commands::Waiting& waiting) {
  verb.add_flag_callback(
      "--no-wait", [&waiting] { waiting = commands::Waiting::none; },
      "Do not wait until the cluster is ready, and skip the network test");
}

void add_bundle_source(CLI::App& verb, std::filesystem::path& bundle, std::filesystem::path& signers) {
  auto* option = verb.add_option("--bundle", bundle, "Install only from this bundle (directory or archive)")
                     ->option_text("DIR|FILE");
  verb.add_option("--bundle-signers", signers,
                  "Trusted signers, in OpenSSH's allowed_signers format (default: in ~/.config/gpuadm and "
                  "/etc/gpuadm)")
      ->option_text("FILE")
      ->needs(option);
}

void add_bring_up(CLI::App& verb, commands::InitOptions& options, Global& global) {
  verb.add_flag("--list-phases", options.list_phases, "List the phases in order and exit");
  add_list(verb, "--phases", options.phases, "A,B", "Run only these phases");
  add_list(verb, "--skip-phases", options.skip_phases, "A,B", "Skip these phases");
  add_list(verb, "--ignore", options.ignore, "ID,...", "Treat these blockers as warnings");
  add_consent(verb, options.consent, global);
  add_reboots(verb, options.reboots);
  add_waiting(verb, options.waiting);
  verb.add_flag("--change-network", options.change_network,
                "Confirm a change of the pod network of a running cluster, which -y does not");
  add_bundle_source(verb, options.bundle, options.bundle_signers);
  verb.add_option("--kubernetes-version", options.kubernetes_version,
                  "Kubernetes version, for example 1.34 or 1.34.2")
      ->option_text("VERSION");
  verb.add_option("--region", options.region, "Use the mirrors of this region, for example cn")
      ->option_text("REGION");
  verb.add_option("--profile", options.profile,
                  "standard: kubeadm's defaults; hardened: also what the CIS benchmark requires")
      ->check(CLI::IsMember({"standard", "hardened"}))
      ->option_text("standard|hardened");
  verb.add_option("--driver", options.driver,
                  "NVIDIA driver: use the installed one, or install one (of this branch)")
      ->option_text("use|install[=BRANCH]");
  add_format(verb, options.format);
}

}  // namespace commands
