#include "commands/shared_options.hpp"

#include "gpuadm/session/connections.hpp"

namespace commands {

void add_hosts(Line& line, Hosts& hosts, const std::string& without) {
  line.argument("TARGET", hosts.targets,
                "[user@]host[:port], or names from the cluster file" +
                    (without.empty() ? "" : " (default: " + without + ")"));
  add_file(line, hosts.file);
}

void add_file(Line& line, std::filesystem::path& file) {
  line.value("-f,--file", file, "FILE", "Cluster file");
}

void add_connection(Line& line, Common& common) {
  line.assets(common.assets);
  Connection& connection = common.connection;
  const auto add = [&](const char* names, auto& value, const char* form, const char* summary) {
    return line.value(names, value, form, summary).heading("Connection");
  };
  constexpr int most = 100'000;
  add("--user", connection.user, "NAME", "Login user (this and the following: default from ssh_config)");
  add("--port", connection.port, "PORT", "SSH port").range(1, 65535);
  add("-i,--identity", connection.identity, "FILE", "Private key");
  add("--ssh-client", connection.client, "CLIENT",
      "SSH client: auto, libssh2 (built in) or openssh (the system's ssh)")
      .one_of({"auto", "libssh2", "openssh"});
  add("--host-key-checking", connection.host_key_checking, "MODE",
      "accept-new: accept and store keys of new hosts, unless ssh_config has "
      "StrictHostKeyChecking yes; strict: refuse them")
      .one_of({"accept-new", "strict"});
  add("--sudo-password-file", connection.sudo_password_file, "FILE",
      "File with the sudo password, mode 0600 (default: prompt if sudo requires a "
      "password)");
  add("--window", connection.window, "HOSTS", "Number of hosts processed in parallel (default 64)")
      .range(1, most);
  add("--connect-timeout", connection.connect_timeout, "SECONDS",
      "Time limit for connecting and logging in (default 15)")
      .range(1, most);
  add("--timeout", connection.timeout, "SECONDS",
      "Time limit for a command without its own limit (default 600)")
      .range(1, most);
}

Option add_kubeconfig(Line& line, Common& common) {
  return line.value("--kubeconfig", common.connection.kubeconfig, "FILE",
                    "Instead of SSH: use this kubeconfig, with its rights, through kubectl on this machine");
}

void add_kubeconfig(Line& line, Common& common, std::string& ns, const Option& given) {
  add_kubeconfig(line, common);
  line.complete([&common, &ns, given]() -> Result<> {
    if (common.connection.kubeconfig.empty()) return {};
    std::string found = TRY(session::namespace_in_kubeconfig(common.connection.kubeconfig));
    if (!given.given()) ns = std::move(found);
    return {};
  });
}

void add_access(Line& line, Common& common, std::string& ns, const char* summary) {
  add_kubeconfig(line, common, ns, add_namespace(line, ns, summary));
}

void add_format(Line& line, Format& format, const Line::Choices<Format>& choices) {
  const Line::Choices<Format> usual = {{"json", Format::json}, {"text", Format::text}};
  line.choice("-o,--output", format, choices.empty() ? usual : choices, "Output format");
}

Option add_yes(Line& line, Consent& consent) {
  return line.flag("-y,--yes", consent, Consent::given, "Do not ask for confirmation");
}

Option add_dry_run(Line& line, Consent& consent) {
  return line.flag("--dry-run", consent, Consent::preview,
                   "Show what would change without changing anything");
}

void add_preview(Line& line, Consent& consent) {
  const Option dry_run = add_dry_run(line, consent);
  add_yes(line, consent).excludes(dry_run);
}

void add_consent(Line& line, Consent& consent) {
  add_preview(line, consent);
  line.diff();
}

void add_consent(Line& line, Consent& consent, Option only_with) {
  Option dry_run = add_dry_run(line, consent);
  add_yes(line, consent).excludes(dry_run).needs(only_with);
  dry_run.needs(only_with);
  line.diff().needs(only_with);
}

void add_reboots(Line& line, Rebooting& reboots) {
  line.flag("--no-reboot", reboots, Rebooting::left,
            "If a host must be rebooted, stop and show the command to continue");
}

Option add_namespace(Line& line, std::string& name, const char* summary) {
  return line.value("-n,--namespace", name, "NAMESPACE", summary);
}

void add_wait_timeout(Line& line, std::chrono::seconds& timeout, const char* summary) {
  line.value("--wait-timeout", timeout, "SECONDS", summary).range(1, 86400);
}

void add_waiting(Line& line, Waiting& waiting) {
  line.flag("--no-wait", waiting, Waiting::none,
            "Do not wait until the cluster is ready, and skip the network test");
}

void add_bundle_source(Line& line, std::filesystem::path& bundle, std::filesystem::path& signers) {
  const Option option =
      line.value("--bundle", bundle, "DIR|FILE", "Install only from this bundle (directory or archive)");
  line.value("--bundle-signers", signers, "FILE",
             "Trusted signers, in OpenSSH's allowed_signers format (default: in ~/.config/gpuadm and "
             "/etc/gpuadm)")
      .needs(option);
}

}  // namespace commands
