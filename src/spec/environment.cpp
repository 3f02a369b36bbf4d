#include "spec/environment.hpp"

#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"

#include <algorithm>
#include <cctype>

namespace spec {

namespace {

/// "host[:port]" before a path: a name, an IPv4 address, or an IPv6 address in brackets.
bool is_host_and_maybe_port(const std::string& text) {
  std::string host = text;
  const std::size_t colon = text.rfind(':');
  if (colon != std::string::npos && text.find(']', colon) == std::string::npos) {
    if (!to_port(std::string_view(text).substr(colon + 1))) return false;
    host = text.substr(0, colon);
  }
  if (host.starts_with('[') && host.ends_with(']'))
    return base::Cidr::parse(host.substr(1, host.size() - 2)).value_or(base::Cidr()).v6;
  return host.find(':') == std::string::npos && is_address(host);
}

/// Start of the path.
std::size_t path_of(const std::string& url) {
  return std::min(url.find('/', url.find("://") + 3), url.size());
}

}  // namespace

bool is_url(const std::string& text) {
  if (!text.starts_with("http://") && !text.starts_with("https://")) return false;
  const std::size_t host = text.find("://") + 3, path = path_of(text);
  const bool plain = std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("-._~:/[]%+").find(c) != std::string::npos;
  });
  return plain && is_host_and_maybe_port(text.substr(host, path - host));
}

bool is_proxy_url(const std::string& text) {
  return is_url(text) && text.size() - path_of(text) <= 1;
}

bool is_registry_host(const std::string& text) {
  return is_host_and_maybe_port(text);
}

bool is_package_repository(const std::string& text) {
  return text == "kubernetes" || text == "nvidiaContainerToolkit" || text == "nvidiaDriver";
}

bool is_fingerprints(const std::string& text) {
  const auto words = base::words(text);
  return !words.empty() && std::ranges::all_of(words, [](std::string_view word) {
    return word.size() == 40 && word.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
  });
}

bool lacks_proxy(const std::string& text) {
  if (base::Cidr::parse(text)) return true;
  const std::string name = text.starts_with('.') ? text.substr(1) : text;
  return base::is_dns_name(name);
}

Type<std::string> url(std::function<bool(const std::string&)> good) {
  Type<std::string> type = text_where("http(s) URL", std::move(good));
  type.read = [any = type.read](const Tree& tree, const std::string& path,
                                Problems& problems) -> std::optional<std::string> {
    if (!tree.is_scalar() || tree.text().find('@') == std::string::npos) return any(tree, path, problems);
    problems.add(tree.mark,
                 fmt::format("{}: the URL must not contain a login; for a proxy, use proxy.loginFile", path));
    return std::nullopt;
  };
  return type;
}

bool is_region(const std::string& text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
}

void check_environment(const Cluster& cluster, const Tree& file, Problems& problems) {
  const Proxy& proxy = cluster.proxy;
  if (const Tree* login = file.at({"proxy", "loginFile"}); login && proxy.http.empty() && proxy.https.empty())
    problems.add(login->mark, "proxy.loginFile: neither proxy.http nor proxy.https is set");
  const Tree* registries = file.at({"mirrors", "registries"});
  if (!registries || !registries->is_map() || cluster.runtime.engine != Engine::docker) return;
  // Docker supports mirrors of its own registry only, at the root of a host (dockerd(8), --registry-mirror).
  for (const auto& [registry, url] : registries->entries())
    if (registry != "docker.io")
      problems.add(
          url.key_mark,
          fmt::format("mirrors.registries.{}: Docker supports mirrors of docker.io only; for the control "
                      "plane's images use kubernetes.imageRepository",
                      base::printable(registry, 100)));
    else if (is_url(url.text()) && !is_proxy_url(url.text()))
      problems.add(url.mark, "mirrors.registries.docker.io: Docker does not support mirrors with a path");
}

Result<> apply_region(const base::Tree& regions, Cluster& cluster) {
  if (cluster.region.empty()) return {};
  const Tree* region = regions.find(cluster.region);
  if (!region) {
    std::vector<std::string> names;
    for (const auto& [name, value] : regions.entries()) names.push_back(name);
    const auto near = base::nearest(cluster.region, names);
    return base::fail(base::Fault::spec,
                      fmt::format("unknown region: '{}'{}", base::printable(cluster.region, 50),
                                  near ? fmt::format(" (did you mean '{}'?)", *near) : ""),
                      "known: " + base::join(names, ", "));
  }
  const auto apply = [&](const char* key, std::map<std::string, std::string>& into, auto wanted) {
    const Tree* presets = region->find(key);
    if (!presets) return;
    for (const auto& [name, url] : presets->entries())
      if (wanted(name)) into.emplace(name, url.text());
  };
  const bool docker = cluster.runtime.engine == Engine::docker;
  apply("registries", cluster.mirrors.registries,
        [&](const std::string& name) { return !docker || name == "docker.io"; });
  apply("packages", cluster.mirrors.packages, [](const std::string&) { return true; });
  if (const Tree* repository = region->find("imageRepository"); repository &&
                                                                cluster.kubernetes.image_repository.empty() &&
                                                                cluster.kubernetes.source != Source::bundle)
    cluster.kubernetes.image_repository = repository->text();
  return {};
}

}  // namespace spec
