#include "gpuadm/bundle/logins.hpp"

#include "gpuadm/base/digest.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

namespace bundle {

namespace {

using base::Fault;
using base::Tree;

/// The name in image references: Docker writes "https://index.docker.io/v1/" for docker.io.
std::string host_and_path(std::string_view key) {
  if (const std::size_t scheme = key.find("://"); scheme != std::string_view::npos)
    key.remove_prefix(scheme + 3);
  while (key.ends_with('/')) key.remove_suffix(1);
  for (const std::string_view api : {"/v1", "/v2"})
    if (key.ends_with(api)) key.remove_suffix(api.size());
  const std::string_view host = key.substr(0, key.find('/'));
  const bool hub = host == "index.docker.io" || host == "registry-1.docker.io";
  return (hub ? "docker.io" : base::lower(host)) + std::string(key.substr(host.size()));
}

std::string word(const Tree& tree, std::string_view key) {
  const Tree* value = tree.find(key);
  return value ? value->text() : std::string();
}

}  // namespace

base::Result<Logins> Logins::parse(std::string_view json, std::string source) {
  const auto tree = base::json::read(json, source);
  if (!tree || !tree->is_map())
    return base::fail(Fault::usage, fmt::format("{}: not a JSON object", source),
                      "create it with `docker login` or `skopeo login --authfile`");
  Logins logins;
  logins.source_ = std::move(source);
  logins.helper_for_all_ = !word(*tree, "credsStore").empty();
  if (const Tree* helpers = tree->find("credHelpers"))
    for (const auto& [host, name] : helpers->entries()) logins.helpers_.insert(host_and_path(host));
  const Tree* auths = tree->find("auths");
  if (!auths) return logins;
  for (const auto& [key, entry] : auths->entries()) {
    std::string packed = word(entry, "auth");
    if (packed.empty() && !word(entry, "username").empty())
      packed = base::base64(word(entry, "username") + ":" + word(entry, "password"));
    if (!packed.empty() && base::from_base64(packed))
      logins.logins_[host_and_path(key)] = base::Secret(std::move(packed));
  }
  return logins;
}

const base::Secret* Logins::find(std::string_view host, std::string_view repository) const {
  const std::string name = host_and_path(host);
  for (std::string key = fmt::format("{}/{}", name, repository); key.size() >= name.size();
       key.resize(key.rfind('/'))) {
    if (const auto login = logins_.find(key); login != logins_.end()) return &login->second;
    if (key.size() == name.size()) break;
  }
  return nullptr;
}

std::string Logins::advice(std::string_view host) const {
  const std::string login =
      fmt::format("(umask 77; skopeo login --authfile FILE {}), then --registry-logins FILE", host);
  if (helper_for_all_ || helpers_.contains(host_and_path(host)))
    return fmt::format("{} uses a credential helper, which gpuadm does not run: {}", source_, login);
  if (source_.empty()) return "log in: docker login " + std::string(host) + ", or " + login;
  return fmt::format("{} has no login for {}: {}", source_, host, login);
}

}  // namespace bundle
