#include "cli/connection.hpp"

namespace cli {

void add_hosts(CLI::App& verb, app::Hosts& hosts) {
  verb.add_option("TARGET", hosts.targets,
                  "[user@]host[:port], or names from the cluster file; none: all of it, or this machine");
  verb.add_option("-f,--file", hosts.file, "The cluster file")->option_text("FILE");
}

void add_connection(CLI::App& verb, app::Connection& connection) {
  const auto add = [&](const char* names, auto& value, const char* text, const char* says) {
    return verb.add_option(names, value, says)->option_text(text)->group("Connection");
  };
  const auto positive = CLI::Range(1, 100'000);
  add("--user", connection.user, "NAME",
      "Who logs in; by default as OpenSSH's configuration says, as for what follows");
  add("--port", connection.port, "PORT", "The SSH port")->check(CLI::Range(1, 65535));
  add("-i,--identity", connection.identity, "FILE", "The private key");
  add("--ssh-client", connection.client, "CLIENT", "auto, libssh2 (built in) or openssh (the system's ssh)")
      ->check(CLI::IsMember({"auto", "libssh2", "openssh"}));
  add("--host-key-checking", connection.host_key_checking, "MODE",
      "accept-new: a host seen for the first time is trusted and remembered; strict: it is refused")
      ->check(CLI::IsMember({"accept-new", "strict"}));
  add("--sudo-password-file", connection.sudo_password_file, "FILE",
      "A file of mode 0600 with the password for sudo; without it the terminal is asked where sudo wants "
      "one");
  add("--window", connection.window, "HOSTS", "How many hosts are worked on at once (64)")->check(positive);
  add("--connect-timeout", connection.connect_timeout, "SECONDS", "For connecting and logging in (15)")
      ->check(positive);
  add("--timeout", connection.timeout, "SECONDS", "For one command that names no time of its own (600)")
      ->check(positive);
}

}  // namespace cli
