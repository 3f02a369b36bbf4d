#include "commands/cli/connection.hpp"

namespace commands {

void add_hosts(CLI::App& verb, commands::Hosts& hosts, const std::string& without) {
  verb.add_option("TARGET", hosts.targets,
                  "[user@]host[:port], or names from the cluster file" +
                      (without.empty() ? "" : " (default: " + without + ")"));
  verb.add_option("-f,--file", hosts.file, "Cluster file")->option_text("FILE");
}

void add_connection(CLI::App& verb, commands::Connection& connection) {
  const auto add = [&](const char* names, auto& value, const char* text, const char* says) {
    return verb.add_option(names, value, says)->option_text(text)->group("Connection");
  };
  const auto positive = CLI::Range(1, 100'000);
  add("--user", connection.user, "NAME", "Login user (this and the following: default from ssh_config)");
  add("--port", connection.port, "PORT", "SSH port")->check(CLI::Range(1, 65535));
  add("-i,--identity", connection.identity, "FILE", "Private key");
  add("--ssh-client", connection.client, "CLIENT",
      "SSH client: auto, libssh2 (built in) or openssh (the system's ssh)")
      ->check(CLI::IsMember({"auto", "libssh2", "openssh"}));
  add("--host-key-checking", connection.host_key_checking, "MODE",
      "accept-new: accept and store keys of new hosts, unless ssh_config has "
      "StrictHostKeyChecking yes; strict: refuse them")
      ->check(CLI::IsMember({"accept-new", "strict"}));
  add("--sudo-password-file", connection.sudo_password_file, "FILE",
      "File with the sudo password, mode 0600 (default: prompt if sudo requires a "
      "password)");
  add("--window", connection.window, "HOSTS", "Number of hosts processed in parallel (default 64)")
      ->check(positive);
  add("--connect-timeout", connection.connect_timeout, "SECONDS",
      "Time limit for connecting and logging in (default 15)")
      ->check(positive);
  add("--timeout", connection.timeout, "SECONDS",
      "Time limit for a command without its own limit (default 600)")
      ->check(positive);
}

}  // namespace commands
