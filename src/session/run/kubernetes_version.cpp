#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/families.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace session {

namespace {

using base::Fault;
using base::Version;

constexpr std::chrono::seconds ask_timeout{240};  // each wait in playbooks/versions.sh has a shorter limit

constexpr const char* other_sources =
    "set another repository in mirrors.packages.kubernetes, or use --bundle DIR";

/// Exit statuses of playbooks/versions.sh, with remedies.
std::string hint_for(int status, const Version& newest) {
  switch (status) {
    case 21:
      return fmt::format("the newest minor that gpuadm knows is {0}: --kubernetes-version {0}; or {1}",
                         newest.minor_text(), other_sources);
    case 22:
      return fmt::format("check the host's network and proxy (proxy: in the cluster file), {}",
                         other_sources);
    case 23:
      return fmt::format(
          "check the mirror and the host's proxy; remove a key of another repository from the host; or {}",
          other_sources);
    case 24:
      return fmt::format("check the mirror and the host's proxy (a login page?), {}", other_sources);
    default:
      return other_sources;
  }
}

std::string listed(const std::vector<Version>& versions) {
  std::vector<std::string> texts;
  for (const Version& version : versions) texts.push_back(version.text());
  return base::join(texts, ", ");
}

/// Whether the host has this kubeadm and this kubelet.
bool has_version(const facts::Facts& facts, const Version& version) {
  const auto is = [&](const std::optional<std::string>& tool) {
    return tool && Version::parse(*tool) == version;
  };
  return is(facts.kubernetes.kubeadm) && is(facts.kubernetes.kubelet);
}

/// The program for one host.
std::string versions_program(const VersionSources& sources, const spec::Host& host, const Version& version,
                             const std::string& script) {
  const playbook::Context context{
      sources.cluster,           sources.decisions, host,    *sources.census.at(host.name),
      sources.library.catalog(), sources.bundle,    version, &sources.census};
  base::Variables variables;
  const auto set = [&](const char* name, bool wanted) {
    variables[name] = wanted ? playbook::variable(name, context).value_or("") : "";
  };
  for (const char* name : {"kubernetes_repository", "kubernetes_minor", "kubernetes_keys"}) set(name, true);
  const spec::Proxy& proxy = sources.cluster.proxy;
  for (const char* name : {"proxy_environment", "proxy_apt", "proxy_dnf"})
    set(name, !proxy.http.empty() || !proxy.https.empty());
  return sources.library.prelude() + base::assignments(variables) + script;
}

}  // namespace

std::vector<Version> read_offers(std::string_view text, const Version& minor) {
  std::vector<Version> versions;
  for (const std::string_view line : base::lines(text)) {
    const auto version = Version::parse(base::trim(line));
    if (version && version->text() == base::trim(line) && version->major == minor.major &&
        version->minor == minor.minor && version->patch >= 0)
      versions.push_back(*version);
  }
  std::ranges::sort(versions);
  versions.erase(std::ranges::unique(versions).begin(), versions.end());
  return versions;
}

Result<Version> choose_offered(const playbook::ChosenVersion& version, const Offers& offers,
                               const std::string& repository) {
  const auto everywhere = [&](const Version& one) {
    return std::ranges::all_of(offers,
                               [&](const auto& of) { return std::ranges::count(of.second, one) > 0; });
  };
  if (offers.empty() || (!version.is_assumed && everywhere(version.version))) return version.version;
  for (const auto& [host, offered] : offers)
    if (offered.empty() || (!version.is_assumed && std::ranges::count(offered, version.version) == 0))
      return base::fail(
          Fault::blocked,
          fmt::format("{}: {} does not offer Kubernetes {}", host, repository,
                      version.is_assumed ? version.version.minor_text() : version.version.text()),
          offered.empty() ? other_sources
                          : fmt::format("it offers {}: --kubernetes-version {}; or {}", listed(offered),
                                        offered.back().text(), other_sources));
  const auto& first = offers.begin()->second;
  const auto newest = std::ranges::find_if(first.rbegin(), first.rend(), everywhere);
  if (newest != first.rend()) return *newest;
  std::vector<std::string> texts;
  for (const auto& [host, offered] : offers) texts.push_back(fmt::format("{}: {}", host, listed(offered)));
  return base::fail(Fault::blocked,
                    fmt::format("no patch release of Kubernetes {} is available to all hosts from {}: {}",
                                version.version.minor_text(), repository, base::join(texts, "; ")),
                    other_sources);
}

Result<SettledVersion> resolve_patch(const playbook::ChosenVersion& version, const VersionSources& sources,
                                     transport::Fleet& fleet) {
  std::vector<std::string> hosts =
      plan::hosts_that_read("package_version", sources.cluster, sources.decisions, sources.census,
                            sources.library, sources.bundle, sources.choice);
  std::erase_if(hosts, [&](const std::string& host) {
    const facts::Facts& facts = *sources.census.at(host);
    return !facts::installs_packages(facts.os.family) ||
           (!version.is_assumed && has_version(facts, version.version));
  });
  if (hosts.empty()) return SettledVersion{version.version};
  const std::string script = TRY(sources.assets.read("playbooks/versions.sh"));
  for (const spec::Host& host : sources.cluster.hosts)
    if (std::ranges::count(hosts, host.name) > 0) {
      transport::Command command;
      command.label = "read the versions in the package repository";
      command.script = versions_program(sources, host, version.version, script);
      command.timeout = ask_timeout;
      fleet.submit(host.name, std::move(command));
    }
  Offers offers;
  std::optional<base::Error> error;
  while (auto completion = fleet.next()) {
    const auto& host = completion->host;
    const auto& result = completion->result;
    if (!result) {
      error = result.error();
      continue;
    }
    offers[host] = read_offers(result->out, version.version);
    if (result->status == 0) continue;
    const auto newest = sources.library.catalog().find("kubernetes", {9999, 0, 0});
    const std::string said = base::printable(base::tail(result->err, 1));
    error = {Fault::blocked,
             fmt::format("{}: {}", host, said.empty() ? fmt::format("exit status {}", result->status) : said),
             hint_for(result->status, Version::parse(newest.value_or("")).value_or(version.version))};
  }
  if (fleet.interrupted())
    return base::fail(Fault::interrupted, "interrupted while reading package repositories");
  if (error) return std::unexpected(*error);
  const auto mirror = sources.cluster.mirrors.packages.find("kubernetes");
  const std::string repository =
      mirror != sources.cluster.mirrors.packages.end()
          ? mirror->second
          : sources.library.catalog().find("kubernetes_repository", version.version).value_or("");
  return SettledVersion{TRY(choose_offered(version, offers, repository)), true};
}

std::vector<std::string> version_notes(const playbook::ChosenVersion& chosen, const SettledVersion& resolved,
                                       const VersionSources& sources) {
  std::vector<std::string> notes;
  if (!resolved.was_asked) return notes;
  if (chosen.is_assumed)
    notes.push_back(fmt::format("Kubernetes {}: the newest patch release of {} in the package repository",
                                resolved.version.text(), resolved.version.minor_text()));
  const spec::Host* first = playbook::first_control_plane(sources.cluster, sources.census);
  if (!first || sources.cluster.runtime.engine == spec::Engine::docker) return notes;
  const playbook::PauseImage pause =
      playbook::pause_image({sources.cluster, sources.decisions, *first, *sources.census.at(first->name),
                             sources.library.catalog(), sources.bundle, resolved.version});
  if (pause.source == playbook::ImageSource::table)
    notes.push_back(fmt::format("sandbox image {}: from gpuadm's table; kubeadm decides once it is installed",
                                pause.name));
  return notes;
}

}  // namespace session
