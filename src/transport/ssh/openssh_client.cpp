#include "transport/ssh/openssh_client.hpp"

#include "transport/dialogue.hpp"
#include "transport/ssh/config/config.hpp"

#include <fmt/format.h>

#include <cctype>

namespace transport {

namespace {

using base::Fault;
using Argv = std::vector<std::string>;

// %f is the fingerprint of the server's host key; only the pinned key is printed as known.
std::string pin(const std::string& fingerprint) {
  std::string wanted = "SHA256:";  // only letters of base64: ssh or the shell could interpret others
  for (char c : std::string_view(fingerprint).substr(fingerprint.starts_with(wanted) ? wanted.size() : 0))
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '/') wanted += c;
  return fmt::format(
      R"(-oKnownHostsCommand=/bin/sh -c "if [ \"$1\" = \"$2\" ]; then echo \"* $3 $4\"; fi" sh %f {} %t %K)",
      wanted);
}

Argv host_key_options(const Options& options, spec::HostKeys policy, const spec::Endpoint& endpoint) {
  if (policy == spec::HostKeys::pinned || !endpoint.host_key.empty())
    return {"-oStrictHostKeyChecking=yes",
            "-oUserKnownHostsFile=/dev/null",
            "-oGlobalKnownHostsFile=/dev/null",
            "-oVerifyHostKeyDNS=no",  // otherwise a key in a secure DNS record or of this machine is accepted
            "-oNoHostAuthenticationForLocalhost=no",
            pin(endpoint.host_key)};
  Argv argv{policy == spec::HostKeys::accept_new ? "-oStrictHostKeyChecking=accept-new"
                                                 : "-oStrictHostKeyChecking=yes"};
  if (!options.known_hosts.empty()) argv.push_back(known_hosts_option(options.known_hosts));
  return argv;
}

/// Where it connects to, and how long it waits.
Argv address_options(const Options& options, const spec::Endpoint& endpoint) {
  Argv argv{"-a",
            "-x",
            "-oPermitLocalCommand=no",
            fmt::format("-oConnectTimeout={}", options.connect_timeout.count()),
            fmt::format("-oServerAliveInterval={}", options.keep_alive.count()),
            "-oServerAliveCountMax=3"};
  if (!options.ssh_config.empty()) argv.insert(argv.end(), {"-F", options.ssh_config.string()});
  if (endpoint.port != 0) argv.insert(argv.end(), {"-p", std::to_string(endpoint.port)});
  if (!endpoint.user.empty()) argv.insert(argv.end(), {"-l", endpoint.user});
  if (!endpoint.identity_file.empty()) argv.insert(argv.end(), {"-i", endpoint.identity_file});
  return argv;
}

}  // namespace

Argv openssh_client(const Options& options, spec::HostKeys policy, const spec::Endpoint& endpoint) {
  Argv argv{"ssh", "-T", "-oBatchMode=yes",
            "-oLogLevel=INFO"};  // its messages say why it failed, and that a key is new
  for (const Argv& more : {address_options(options, endpoint), host_key_options(options, policy, endpoint)})
    argv.insert(argv.end(), more.begin(), more.end());
  return argv;
}

Argv openssh_terminal(const Options& options, const spec::Endpoint& endpoint) {
  Argv argv{"ssh"};
  const Argv address = address_options(options, endpoint);
  argv.insert(argv.end(), address.begin(), address.end());
  argv.push_back("-oClearAllForwardings=yes");
  // An option on its command line would override the operator's configuration, so accept-new is left to it.
  if (options.host_keys == spec::HostKeys::accept_new && endpoint.host_key.empty()) {
    if (!options.known_hosts.empty()) argv.push_back(known_hosts_option(options.known_hosts));
    return argv;
  }
  const Argv keys = host_key_options(options, options.host_keys, endpoint);
  argv.insert(argv.end(), keys.begin(), keys.end());
  return argv;
}

// OpenSSH has one exit status for all failures, so its messages must distinguish them; they are not
// translated.
base::Error openssh_failure(const Peer& peer, const std::string& words, bool begun) {
  const auto mentions = [&](std::string_view text) { return words.find(text) != std::string::npos; };
  const std::string quoted = words.empty() ? "no output" : words;
  if (begun)
    return {Fault::unreachable, fmt::format("{}: the connection was lost: {}", peer.host, quoted),
            "check that the host is up, and run again: completed steps are skipped"};
  if (mentions("Host key verification failed") || mentions("REMOTE HOST IDENTIFICATION"))
    return {Fault::host_key, fmt::format("{}: the host key was rejected: {}", peer.host, quoted),
            "check it manually: " + peer.login};
  if (mentions("Permission denied") || mentions("Too many authentication failures"))
    return {Fault::auth, fmt::format("{}: cannot log in: {}", peer.host, quoted),
            "try to log in manually: " + peer.login};
  return {Fault::unreachable, fmt::format("{}: ssh: {}", peer.host, quoted), "try manually: " + peer.login};
}

Peer openssh_peer(const std::string& host, const spec::Endpoint& endpoint) {
  const std::string where = endpoint.user.empty() ? endpoint.address : endpoint.user + "@" + endpoint.address;
  return {host, endpoint.user.empty() ? "the login user" : endpoint.user,
          endpoint.port == 0 ? "ssh " + where : fmt::format("ssh -p {} {}", endpoint.port, where)};
}

}  // namespace transport
