#include "transport/ssh/config/config.hpp"

#include "gpuadm/base/text.hpp"

#include "transport/ssh/config/tokens.hpp"

#include <fmt/format.h>

#include <netdb.h>

#include <algorithm>
#include <functional>
#include <map>

namespace transport {

namespace {
/// "none" stands for no value (ssh_config(5)).
bool is_none(std::string_view value) {
  return base::lower(value) == "none";
}

std::vector<std::string> files(Config& config, const char* option, std::string_view value) {
  if (is_none(value)) return {};
  std::vector<std::string> items;
  for (const std::string_view item : base::split(value, ' ')) items.emplace_back(item);
  if (items.size() > 1 && !std::ranges::all_of(items, [](const std::string& item) {
        return item.starts_with('/') || item.starts_with('~');
      }))
    config.unclear_files = option;
  return items;
}

bool yes(std::string_view value) {
  return value == "yes" || value == "true";
}
bool no(std::string_view value) {
  return value == "no" || value == "false";
}

std::vector<std::string> names(std::string_view value) {
  std::vector<std::string> items;
  for (const std::string_view item : base::split(value, ','))
    if (!item.empty()) items.emplace_back(item);
  return items;
}

std::string unless_none(std::string_view value) {
  return std::string(is_none(value) ? "" : value);
}

/// Replaces a setting on the command line of the OpenSSH client.
void replace(Config& config, std::string_view value, std::string_view usual, const char* option) {
  if (value != usual) config.client_options.emplace_back(option);
}

int family(std::string_view value) {
  return value == "inet" ? AF_INET : value == "inet6" ? AF_INET6 : AF_UNSPEC;
}

using Setter = std::function<void(Config&, std::string_view)>;
const std::map<std::string_view, Setter>& setters() {
  static const std::map<std::string_view, Setter> table{
      {"hostname", [](Config& c, std::string_view v) { c.host_name = v; }},
      {"user", [](Config& c, std::string_view v) { c.user = v; }},
      {"port", [](Config& c,
                  std::string_view v) { c.port = static_cast<std::uint16_t>(base::to_int(v).value_or(22)); }},
      {"hostkeyalias", [](Config& c, std::string_view v) { c.key_alias = v; }},
      {"identityfile",
       [](Config& c, std::string_view v) {
         if (!is_none(v)) c.identity_files.emplace_back(v);
       }},
      {"certificatefile", [](Config& c, std::string_view v) { c.certificate_files.emplace_back(v); }},
      {"userknownhostsfile",
       [](Config& c, std::string_view v) { c.user_known_hosts = files(c, "UserKnownHostsFile", v); }},
      {"globalknownhostsfile",
       [](Config& c, std::string_view v) { c.global_known_hosts = files(c, "GlobalKnownHostsFile", v); }},
      {"identitiesonly", [](Config& c, std::string_view v) { c.identities_only = yes(v); }},
      {"gssapiauthentication", [](Config& c, std::string_view v) { c.gssapi = yes(v); }},
      {"hostbasedauthentication", [](Config& c, std::string_view v) { c.host_based = yes(v); }},
      {"pkcs11provider", [](Config& c, std::string_view v) { c.pkcs11_provider = unless_none(v); }},
      {"proxyusefdpass", [](Config& c, std::string_view v) { c.proxy_passes_descriptor = yes(v); }},
      {"addressfamily", [](Config& c, std::string_view v) { c.family = family(v); }},
      {"checkhostip", [](Config& c, std::string_view v) { c.check_ip = yes(v); }},
      {"rekeylimit", [](Config& c, std::string_view v) { c.rekey_limit = v; }},
      {"stdinnull", [](Config& c, std::string_view v) { replace(c, v, "no", "-oStdinNull=no"); }},
      {"sessiontype",
       [](Config& c, std::string_view v) { replace(c, v, "default", "-oSessionType=default"); }},
      {"remotecommand", [](Config& c, std::string_view v) { replace(c, v, "none", "-oRemoteCommand=none"); }},
      {"hashknownhosts", [](Config& c, std::string_view v) { c.hash_known_hosts = yes(v); }},
      {"identityagent", [](Config& c, std::string_view v) { c.identity_agent = v; }},
      {"proxycommand", [](Config& c, std::string_view v) { c.proxy_command = unless_none(v); }},
      {"proxyjump", [](Config& c, std::string_view v) { c.proxy_jump = unless_none(v); }},
      {"stricthostkeychecking", [](Config& c, std::string_view v) { c.strict = yes(v); }},
      {"knownhostscommand", [](Config& c, std::string_view v) { c.known_hosts_command = unless_none(v); }},
      {"revokedhostkeys", [](Config& c, std::string_view v) { c.revoked_host_keys = unless_none(v); }},
      {"kexalgorithms", [](Config& c, std::string_view v) { c.kex_algorithms = names(v); }},
      {"hostkeyalgorithms", [](Config& c, std::string_view v) { c.host_key_algorithms = names(v); }},
      {"ciphers", [](Config& c, std::string_view v) { c.ciphers = names(v); }},
      {"macs", [](Config& c, std::string_view v) { c.macs = names(v); }},
      {"pubkeyacceptedalgorithms", [](Config& c, std::string_view v) { c.key_algorithms = names(v); }},
      {"pubkeyacceptedkeytypes", [](Config& c, std::string_view v) { c.key_algorithms = names(v); }},
      {"requiredrsasize",
       [](Config& c, std::string_view v) {
         c.least_rsa_bits = static_cast<int>(base::to_int(v).value_or(Config::usual_rsa_bits));
       }},
      {"bindaddress", [](Config& c, std::string_view v) { c.bind_address = v; }},
      {"bindinterface", [](Config& c, std::string_view v) { c.bind_interface = v; }},
      {"preferredauthentications", [](Config& c, std::string_view v) { c.preferred_methods = names(v); }},
      {"pubkeyauthentication", [](Config& c, std::string_view v) { c.keys = !no(v); }},
      {"passwordauthentication", [](Config& c, std::string_view v) { c.passwords = !no(v); }},
      {"kbdinteractiveauthentication", [](Config& c, std::string_view v) { c.interactive = !no(v); }},
      {"challengeresponseauthentication", [](Config& c, std::string_view v) { c.interactive = !no(v); }},
      {"batchmode", [](Config& c, std::string_view v) { c.batch = yes(v); }},
      {"numberofpasswordprompts",
       [](Config& c, std::string_view v) {
         c.password_prompts = static_cast<int>(base::to_int(v).value_or(3));
       }},
  };
  return table;
}
}  // namespace

std::string canonical(const std::string& host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  char name[NI_MAXHOST] = "";
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) == 0) {
    ::getnameinfo(found->ai_addr, found->ai_addrlen, name, sizeof name, nullptr, 0, NI_NUMERICHOST);
    ::freeaddrinfo(found);
  }
  return *name ? name : base::lower(host);
}

Config parse_config(std::string_view text) {
  Config config;
  for (auto line : base::lines(text)) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    const auto found = setters().find(line.substr(0, blank));
    if (found != setters().end()) found->second(config, line.substr(blank + 1));
  }
  return config;
}

bool Config::allows(std::string_view method) const {
  if (!preferred_methods.empty() && std::ranges::find(preferred_methods, method) == preferred_methods.end())
    return false;
  if (method == "publickey") return keys;
  if (method == "password") return passwords && !batch;
  if (method == "keyboard-interactive") return interactive && !batch;
  return true;
}

Config plain_config(const std::string& host) {
  Config config;
  config.host_name = canonical(host);
  config.user = login_name();
  for (const char* name : {"id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk"})
    config.identity_files.push_back(fmt::format("~/.ssh/{}", name));
  config.user_known_hosts = {"~/.ssh/known_hosts", "~/.ssh/known_hosts2"};
  config.global_known_hosts = {"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"};
  return config;
}

}  // namespace transport
