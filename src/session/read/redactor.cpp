#include "gpuadm/base/json.hpp"
#include "gpuadm/base/network.hpp"
#include "gpuadm/session/recording.hpp"

#include <algorithm>
#include <array>

namespace session {

namespace {

using base::Tree;

constexpr std::array public_domains = std::to_array<std::string_view>(
    {"k8s.io", "gcr.io", "docker.io", "quay.io", "ghcr.io", "nvcr.io", "nvidia.com", "github.io"});

bool is_within(std::string_view name, std::string_view domain) {
  return name == domain || (name.ends_with(domain) && name[name.size() - domain.size() - 1] == '.');
}

bool is_public(std::string_view name) {
  return std::ranges::any_of(public_domains,
                             [&](std::string_view domain) { return is_within(name, domain); });
}

/// "proxy.example.org" of "http://proxy.example.org:3128/path", "proxy.example.org:3128" and similar.
std::string_view host_in(std::string_view text) {
  if (const auto scheme = text.find("://"); scheme != text.npos) text.remove_prefix(scheme + 3);
  text = text.substr(0, text.find('/'));
  if (text.starts_with('[')) return text.substr(1, text.find(']') - 1);
  return std::ranges::count(text, ':') == 1 ? text.substr(0, text.find(':')) : text;
}

/// A server and its domain. A name without a domain may be a common word, such as `proxy`.
void learn_server(std::string_view text, facts::Redactor& redact) {
  const std::string_view name = host_in(text);
  const auto dot = name.find('.');
  if (dot == name.npos || base::Cidr::parse(name) || is_public(name)) return;
  redact.learn(name, "host");
  const std::string_view domain = name.substr(dot + 1);
  if (domain.find('.') != domain.npos && !is_public(domain)) redact.learn(domain, "domain");
}

/// ".example.org" and "host.example.org", but not those of the cluster itself.
void learn_domain(std::string_view text, std::string_view own_domain, facts::Redactor& redact) {
  if (text.starts_with('.')) text.remove_prefix(1);
  if (text.find('.') != text.npos && !base::Cidr::parse(text) && !is_public(text) &&
      !is_within(text, own_domain))
    redact.learn(text, "domain");
}

void learn_in(const Tree& tree, facts::Redactor& redact) {
  for (const char* key : {"hostname", "fqdn"})
    if (const Tree* name = tree.find(key)) redact.learn_host(name->text());
  if (const Tree* search = tree.find("search"))
    for (const Tree& domain : search->items()) redact.learn(domain.text(), "domain");
  for (const auto& [key, value] : tree.entries()) learn_in(value, redact);
  for (const Tree& item : tree.items()) learn_in(item, redact);
}

}  // namespace

void learn_names(const spec::Cluster& cluster, facts::Redactor& redact) {
  for (const spec::Host& host : cluster.hosts) redact.learn(host.name, "host");
  for (const spec::Host& host : cluster.hosts) redact.learn(host.endpoint.address, "host");
  for (const spec::Host& host : cluster.hosts)
    for (const std::string& name : {host.name, host.endpoint.address}) redact.learn_host(name);
  redact.learn(cluster.ssh.user, "user");
  redact.learn_people(cluster.ssh.identity_file);
  redact.learn_people(cluster.proxy.login_file);
  for (const spec::Host& host : cluster.hosts) {
    redact.learn(host.endpoint.user, "user");
    redact.learn_people(host.endpoint.identity_file);
  }
  learn_server(cluster.control_plane.endpoint, redact);
  learn_server(cluster.kubernetes.image_repository, redact);
  learn_server(cluster.proxy.http, redact);
  learn_server(cluster.proxy.https, redact);
  for (const auto& [registry, mirror] : cluster.mirrors.registries)
    for (const std::string& url : {registry, mirror}) learn_server(url, redact);
  for (const auto& [repository, mirror] : cluster.mirrors.packages) learn_server(mirror, redact);
  for (const spec::Storage& storage : cluster.storage) {
    learn_server(storage.server, redact);
    for (const std::string& monitor : storage.monitors) learn_server(monitor, redact);
    redact.learn_people(storage.key_file);
  }
  for (const spec::User& user : cluster.users) {
    redact.learn(user.name, "user");
    redact.learn(user.ns, "namespace");
    redact.learn(std::string_view(user.group).substr(user.group.rfind(':') + 1), "group");
    learn_server(user.server, redact);
  }
  for (const spec::Served& served : cluster.serve) {
    redact.learn(served.name, "model");
    if (served.ns != spec::Served().ns) redact.learn(served.ns, "namespace");
    learn_server(served.image, redact);
    redact.learn_people(served.hub_token_file);
  }
  const std::string& own_domain = cluster.network.dns_domain;
  for (const std::string& entry : cluster.proxy.no_proxy) learn_domain(entry, own_domain, redact);
  if (own_domain != spec::Network().dns_domain) learn_domain(own_domain, "", redact);
}

void learn_names_in_facts(std::string_view json, facts::Redactor& redact) {
  if (const auto tree = base::json::read(json, "facts.json")) learn_in(*tree, redact);
}

}  // namespace session
