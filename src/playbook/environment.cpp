#include "playbook/environment.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/base/toml.hpp"

#include "playbook/containerd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace playbook {

namespace {

/// Encoded for a URL (RFC 3986, 2.1).
std::string encoded(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) ||
        std::string_view("-._~").find(c) != std::string_view::npos)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return out;
}

struct Login {
  std::string user, password;
};

Login login_of(const Context& context) {
  const std::string& text = context.cluster.proxy.login.reveal();
  const std::size_t colon = std::min(text.find(':'), text.size());
  return {text.substr(0, colon), text.substr(std::min(colon + 1, text.size()))};
}

/// The URL with the login.
std::string with_login(const Context& context, const std::string& url) {
  if (url.empty() || context.cluster.proxy.login.empty()) return url;
  const Login login = login_of(context);
  const std::size_t host = url.find("://") + 3;
  return fmt::format("{}{}:{}@{}", url.substr(0, host), encoded(login.user), encoded(login.password),
                     url.substr(host));
}

const std::string& https_proxy(const Context& context) {
  const spec::Proxy& proxy = context.cluster.proxy;
  return proxy.https.empty() ? proxy.http : proxy.https;
}

void add(std::vector<std::string>& list, const std::string& item) {
  if (!item.empty() && std::ranges::find(list, item) == list.end()) list.push_back(item);
}

/// "[::1]:6443" and "api.lab:6443" without the port.
std::string host_of(const std::string& endpoint) {
  std::string host = endpoint.substr(0, endpoint.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

}  // namespace

bool has_proxy(const Context& context) {
  return !context.cluster.proxy.http.empty() || !context.cluster.proxy.https.empty();
}

std::vector<std::string> no_proxy(const Context& context) {
  const spec::Cluster& cluster = context.cluster;
  std::vector<std::string> list = {"localhost", "127.0.0.0/8", "::1"};
  for (const spec::Host& host : cluster.hosts) {
    add(list, host.endpoint.address);
    if (!context.census) continue;
    const auto facts = context.census->find(host.name);
    if (facts != context.census->end() && facts->second) add(list, facts->second->network.default_address);
  }
  add(list, context.facts.network.default_address);
  add(list, cluster.control_plane.advertise_address);
  add(list, host_of(cluster.control_plane.endpoint));
  add(list, cluster.network.pod_cidr);
  add(list, cluster.network.service_cidr);
  add(list, ".svc");
  add(list, "." + cluster.network.dns_domain);
  for (const std::string& item : cluster.proxy.no_proxy) add(list, item);
  return list;
}

std::string proxy_environment(const Context& context) {
  const std::pair<const char*, std::string> variables[] = {
      {"HTTP_PROXY", with_login(context, context.cluster.proxy.http)},
      {"HTTPS_PROXY", with_login(context, https_proxy(context))},
      {"NO_PROXY", base::join(no_proxy(context), ",")}};
  std::string text = "# Written by gpuadm: the HTTP proxy of this host.\n";
  for (const auto& [name, value] : variables)
    if (!value.empty()) text += fmt::format("{0}=\"{2}\"\n{1}=\"{2}\"\n", name, base::lower(name), value);
  return text;
}

std::string proxy_apt(const Context& context) {
  std::string text = "// Written by gpuadm.\n";
  const std::pair<const char*, std::string> schemes[] = {
      {"http", with_login(context, context.cluster.proxy.http)},
      {"https", with_login(context, https_proxy(context))}};
  for (const auto& [scheme, url] : schemes) {
    if (!url.empty()) text += fmt::format("Acquire::{}::Proxy \"{}\";\n", scheme, url);
    // apt supports only hosts: neither domains nor networks.
    for (const std::string& host : context.cluster.proxy.no_proxy)
      if (!host.starts_with('.') && host.find('/') == std::string::npos)
        text += fmt::format("Acquire::{}::Proxy::{} \"DIRECT\";\n", scheme, host);
  }
  return text;
}

std::string proxy_dnf(const Context& context) {
  std::string text = fmt::format("proxy={}\n", https_proxy(context));
  if (context.cluster.proxy.login.empty()) return text;
  const Login login = login_of(context);
  return text + fmt::format("proxy_username={}\nproxy_password={}\n", login.user, login.password);
}

std::string proxy_mode(const Context& context) {
  return context.cluster.proxy.login.empty() ? "0644" : "0600";
}

std::string registry_mirrors(const Context& context) {
  std::string text;
  for (const auto& [registry, url] : context.cluster.mirrors.registries)
    text += fmt::format("{} {}\n", registry, url);
  return text;
}

Result<std::vector<Composed>> compose_crio_registries(const Context& context) {
  std::string text = "# Written by gpuadm: registry mirrors.\n";
  for (const auto& [registry, url] : context.cluster.mirrors.registries) {
    text += fmt::format(
        "\n[[registry]]\nprefix = \"{0}\"\nlocation = \"{0}\"\n\n[[registry.mirror]]\nlocation = \"{1}\"\n",
        registry, url.substr(url.find("://") + 3));
    if (url.starts_with("http://")) text += "insecure = true\n";
  }
  TRY(base::toml::read(text, "registries.conf"));
  return std::vector{Composed{"", text, std::nullopt}};
}

std::string registry_hosts(const Context& context) {
  if (context.cluster.runtime.engine != spec::Engine::containerd) return {};
  const facts::Containerd containerd = context.facts.runtime.containerd.value_or(facts::Containerd{});
  const auto parts = containerd_parts(containerd, context.host.name);
  if (!parts) return {};  // the step that composes the file reports the error
  const base::Version engine = engine_version(containerd.version, {1, 6, 0});
  const base::Tree tree = effective_containerd(*parts, engine);
  const Path& registry = containerd_layout(parts->front().version).registry;
  const base::Tree* path = tree.at(registry / "config_path");
  // A list like $PATH; the first match is used (containerd docs/hosts.md).
  if (path && !path->text().empty()) return path->text().substr(0, path->text().find(':'));
  const base::Tree* old = tree.at(registry / "mirrors");
  return old && !old->entries().empty() ? "" : containerd_certs;
}

std::string package_keys(const Context& context, const std::string& name, const std::string& key) {
  const auto own = context.cluster.mirrors.package_keys.find(name);
  return own == context.cluster.mirrors.package_keys.end()
             ? context.catalog.find(key, context.kubernetes).value_or("")
             : own->second;
}

std::string package_repository(const Context& context, const std::string& name, const std::string& key) {
  const auto mirror = context.cluster.mirrors.packages.find(name);
  std::string url = mirror == context.cluster.mirrors.packages.end()
                        ? context.catalog.find(key, context.kubernetes).value_or("")
                        : mirror->second;
  while (url.ends_with('/')) url.pop_back();
  return url;
}

}  // namespace playbook
