#include "gpuadm/base/shell.hpp"
#include "gpuadm/session/connections.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace session {

namespace {

std::string word(const std::string& text) {
  const bool plain = std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("@%+=:,./_-[]").contains(static_cast<char>(c));
  });
  return " " + (plain ? text : base::quote(text));
}

}  // namespace

std::string typed(const Hosts& hosts, const Connection& connection) {
  std::string text;
  for (const std::string& target : hosts.targets) text += word(target);
  const auto option = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format(" {}{}", name, word(value));
  };
  option("-f", hosts.file.string());
  option("--kubeconfig", connection.kubeconfig.string());
  option("--user", connection.user);
  option("--port", connection.port == 0 ? "" : std::to_string(connection.port));
  option("-i", connection.identity.string());
  option("--ssh-client", connection.client);
  option("--host-key-checking", connection.host_key_checking);
  option("--sudo-password-file", connection.sudo_password_file.string());
  return text;
}

std::string file_option(const std::vector<std::string>& command) {
  for (std::size_t i = 0; i < command.size() && command[i] != "--"; ++i) {
    if ((command[i] == "-f" || command[i] == "--file") && i + 1 < command.size())
      return " -f" + word(command[i + 1]);
    if (command[i].starts_with("--file=")) return " -f" + word(command[i].substr(7));
  }
  return {};
}

}  // namespace session
