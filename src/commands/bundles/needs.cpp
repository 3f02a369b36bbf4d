#include "commands/bundles/needs.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/facts/families.hpp"
#include "gpuadm/facts/from_tree.hpp"
#include "gpuadm/session/run_playbook.hpp"
#include "gpuadm/spec/network_plugins.hpp"
#include "gpuadm/spec/storage.hpp"
#include "gpuadm/workload/addon.hpp"

#include "commands/install/bring_up.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

namespace fs = std::filesystem;
using base::Fault;
using base::Tree;

constexpr const char* sources_file = "data/sources.yaml";

std::string architecture_of(std::string_view machine) {
  if (machine == "x86_64" || machine == "amd64") return "amd64";
  if (machine == "aarch64" || machine == "arm64") return "arm64";
  return {};
}

/// Parses facts of a run or of `gpuadm facts -o json`: {host: facts}, or the facts of one host.
struct HostSummary {
  bool any = false, gpus = false, runtime_is_missing = false;
  std::set<std::string> architectures, families;
  std::vector<PackageHost> hosts;
};

Result<> add_host(const Tree& tree, const std::string& host, const fs::path& file, HostSummary& summary) {
  const facts::Facts facts = facts::read_package_facts(tree);
  const std::string architecture = architecture_of(facts.os.architecture);
  if (architecture.empty())
    return base::fail(
        Fault::spec,
        fmt::format("{}: {}: unsupported architecture '{}': bundles are for amd64 or arm64", file.string(),
                    base::printable(host, 100), base::printable(facts.os.architecture, 50)),
        "use a file written by `gpuadm facts -o json`");
  summary.any = true;
  summary.architectures.insert(architecture);
  summary.families.emplace(facts::row_of(facts.os.family).name);
  summary.gpus |= !facts.nvidia.pci_gpus.empty();
  summary.runtime_is_missing |= !facts.runtime.containerd;
  summary.hosts.push_back({host, facts});
  return {};
}

Result<> add_facts(const std::string& text, const fs::path& file, HostSummary& summary) {
  const Tree tree = TRY(base::json::read(text, file.string()));
  if (tree.find("os")) return add_host(tree, "the host", file, summary);
  for (const auto& [host, facts] : tree.entries()) TRY(add_host(facts, host, file, summary));
  if (!summary.any)
    return base::fail(Fault::spec, fmt::format("{}: no facts of hosts", file.string()),
                      "use a file written by `gpuadm facts -o json`");
  return {};
}

Result<playbook::ChosenVersion> version_of(const BundleCreateOptions& options, spec::Cluster& cluster,
                                           const playbook::Catalog& catalog) {
  cluster.kubernetes.source = spec::Source::packages;
  if (!options.kubernetes_version.empty()) {
    cluster.kubernetes.version =
        TRY(spec::parse_kubernetes_version(options.kubernetes_version, "--kubernetes-version"));
  }
  return playbook::choose_version(cluster, {}, catalog, nullptr);
}

/// Replaces {name}.
Result<std::string> fill(std::string_view text, const std::map<std::string, std::string>& words,
                         const playbook::Catalog& catalog, const base::Version& kubernetes) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find('{', at), close = text.find('}', open);
    out += text.substr(at, open == std::string_view::npos ? open : open - at);
    if (open == std::string_view::npos || close == std::string_view::npos) break;
    const std::string name(text.substr(open + 1, close - open - 1));
    const auto word = words.find(name);
    const auto value = word != words.end() ? std::optional(word->second) : catalog.find(name, kubernetes);
    if (!value)
      return base::fail(Fault::spec,
                        fmt::format("{}: {{{}}} is not a key of playbooks/catalog.yaml", sources_file, name));
    out += *value;
    at = close + 1;
  }
  return out;
}

Result<bundle::BundleKind> kind_of(const std::string& name) {
  using bundle::BundleKind;
  for (const auto kind : {BundleKind::binary, BundleKind::runtime, BundleKind::package, BundleKind::file})
    if (bundle::name_of(kind) == name) return kind;
  return base::fail(Fault::spec,
                    fmt::format("{}: unknown kind of file: '{}'", sources_file, base::printable(name, 50)));
}

}  // namespace

Result<BundleNeeds> read_needs(const BundleCreateOptions& options, const playbook::Catalog& catalog) {
  BundleNeeds needs;
  HostSummary summary;
  bool cluster = false;
  for (const fs::path& file : options.hosts) {
    const auto text = base::read_file(file, 256u << 20);
    if (!text) return base::fail(Fault::usage, text.error().what, text.error().hint);
    if (base::trim(*text).starts_with('{')) {
      TRY(add_facts(*text, file, summary));
    } else if (std::exchange(cluster, true)) {
      return base::fail(Fault::usage, "--for: two cluster files", "create a bundle for each");
    } else {
      needs.cluster = TRY(spec::parse(*text, file.string()));
    }
  }
  TRY(ask_for_driver(options.driver, needs.cluster.gpu));
  if (summary.architectures.size() > 1)
    return base::fail(Fault::usage, "the hosts have two architectures; a bundle is for one",
                      "create two bundles, each with the facts of the hosts of one architecture");
  const std::string host_architecture = summary.any ? *summary.architectures.begin() : "";
  needs.architecture = architecture_of(options.architecture);
  if (!options.architecture.empty() && needs.architecture.empty())
    return base::fail(Fault::usage, fmt::format("--architecture {}: expected amd64 or arm64",
                                                base::printable(options.architecture, 50)));
  if (needs.architecture.empty()) needs.architecture = host_architecture;
  if (needs.architecture.empty()) needs.architecture = "amd64";
  if (summary.any && needs.architecture != host_architecture)
    return base::fail(
        Fault::usage,
        fmt::format("--architecture is {}, but the hosts are {}", needs.architecture, host_architecture),
        "omit --architecture");
  if (summary.any) {
    needs.gpus = summary.gpus;
    needs.runtime = summary.runtime_is_missing;
    needs.families = summary.families;
    needs.hosts = std::move(summary.hosts);
    needs.has_facts = true;
  }
  const playbook::ChosenVersion chosen = TRY(version_of(options, needs.cluster, catalog));
  needs.kubernetes = chosen.version;
  needs.version_is_assumed = chosen.is_assumed;
  return needs;
}

Result<std::string> newest_source(const assets::Store& store, const playbook::Catalog& catalog,
                                  const base::Version& minor) {
  const Tree tree = TRY(base::yaml::read(TRY(store.read(sources_file)), sources_file));
  if (text_at(tree, {"newest"}).empty())
    return base::fail(Fault::spec, fmt::format("{}: needs newest", sources_file),
                      fmt::format("or set a patch release: --kubernetes-version {}.0", minor.minor_text()));
  return fill(text_at(tree, {"newest"}), {{"minor", minor.minor_text()}}, catalog, minor);
}

Result<base::Version> read_newest(std::string_view text, const base::Version& minor,
                                  const std::string& source) {
  std::string_view line = base::trim(text.substr(0, text.find('\n')));
  if (line.starts_with('v')) line.remove_prefix(1);
  const std::vector<base::Version> versions = session::read_offers(line, minor);
  if (!versions.empty()) return versions.back();
  return base::fail(Fault::parse,
                    fmt::format("{} has no patch release of Kubernetes {}: it begins with '{}'", source,
                                minor.minor_text(), base::printable(text.substr(0, 60))),
                    fmt::format("set one: --kubernetes-version {}.0", minor.minor_text()));
}

Result<Sources> read_sources(const assets::Store& store, const playbook::Catalog& catalog,
                             const BundleNeeds& needs) {
  const Tree tree = TRY(base::yaml::read(TRY(store.read(sources_file)), sources_file));
  const base::Version& kubernetes = needs.kubernetes;
  std::map<std::string, std::string> words = {
      {"kubernetes", kubernetes.text()},
      {"minor", kubernetes.minor_text()},
      {"arch", needs.architecture},
      {"machine", needs.architecture == "arm64" ? "aarch64" : "x86_64"}};
  const spec::Mirrors& mirrors = needs.cluster.mirrors;
  if (const auto mirror = mirrors.packages.find("nvidiaContainerToolkit"); mirror != mirrors.packages.end())
    words["toolkit_repository"] = mirror->second;
  if (const auto keys = mirrors.package_keys.find("nvidiaContainerToolkit");
      keys != mirrors.package_keys.end())
    words["toolkit_key_fingerprints"] = keys->second;
  const auto filled = [&](const Tree& row, const char* key) {
    return fill(text_at(row, {key}), words, catalog, kubernetes);
  };
  Sources sources;
  const Tree* files = tree.find("files");
  const Tree* images = tree.find("images");
  if (!files || !images)
    return base::fail(Fault::spec, fmt::format("{}: needs files and images", sources_file));
  for (const Tree& row : files->items()) {
    SourceFile file;
    file.part = text_at(row, {"part"});
    file.target = text_at(row, {"target"});
    file.mode = row.find("mode") ? text_at(row, {"mode"}) : "0755";
    file.os = text_at(row, {"os"});
    file.kind = TRY(kind_of(text_at(row, {"kind"})));
    file.url = TRY(filled(row, "url"));
    file.sum = TRY(filled(row, "sum"));
    file.index = TRY(filled(row, "index"));
    file.key = TRY(filled(row, "key"));
    file.fingerprints = TRY(filled(row, "fingerprints"));
    if (row.find("template")) file.content = TRY(store.read(text_at(row, {"template"})));
    if (const Tree* members = row.find("members"))
      for (const auto& [name, target] : members->entries()) file.members[name] = target.text();
    sources.parts.insert(file.part);
    sources.files.push_back(std::move(file));
  }
  for (const Tree& row : images->items()) {
    SourceImage image{.part = text_at(row, {"part"}), .name = {}};
    image.name = TRY(filled(row, "name"));
    sources.parts.insert(image.part);
    sources.images.push_back(std::move(image));
  }
  const auto add_image = [&](const char* part, const std::string& key) -> Result<> {
    std::string name = TRY(fill(key, words, catalog, kubernetes));
    sources.images.push_back({part, std::move(name)});
    return {};
  };
  for (const std::string_view key : base::words(spec::row_of(needs.cluster.network.plugin).images))
    TRY(add_image("network", fmt::format("{{{}}}", key)));
  if (spec::find_default_class(needs.cluster))
    for (const char* key : {"{local_path_image}", "{local_path_helper_image}"})
      TRY(add_image("local-path", key));
  sources.parts.insert({"coredns", "driver", "local-path", "network", "programs"});
  return sources;
}

Result<bool> needs_driver(const BundleNeeds& needs, const std::vector<std::string>& skip) {
  if (needs.cluster.gpu.driver != spec::DriverPolicy::install || std::ranges::count(skip, "driver") > 0)
    return false;
  if (!needs.has_facts)
    return base::fail(
        Fault::usage,
        "a driver is to be installed, but the GPUs, release and kernel of the hosts are unknown",
        "gpuadm facts -f cluster.yaml -o json >facts.json, then --for cluster.yaml,facts.json; or "
        "--skip driver");
  return true;
}

Result<> choose_sources(Sources& sources, const BundleNeeds& needs, const std::vector<std::string>& skip) {
  const std::vector<std::string> known(sources.parts.begin(), sources.parts.end());
  std::set<std::string> without(skip.begin(), skip.end());
  for (const std::string& part : skip)
    if (!sources.parts.contains(part)) {
      const auto near = base::nearest(part, known);
      return base::fail(Fault::usage, fmt::format("--skip {}: unknown component", base::printable(part, 50)),
                        near ? fmt::format("did you mean {}?", *near) : "known: " + base::join(known, ", "));
    }
  const spec::Cluster& cluster = needs.cluster;
  const auto unless = [&](bool needed, const char* part) {
    if (!needed) without.insert(part);
  };
  const bool native = needs.gpus && cluster.gpu.stack == spec::GpuStack::native;
  unless(needs.runtime && cluster.runtime.engine == spec::Engine::containerd, "runtime");
  unless(cluster.network.plugin != spec::NetworkPlugin::none, "cni");
  unless(!spec::row_of(cluster.network.plugin).images.empty(), "network");
  unless(!cluster.control_plane.virtual_address.empty(), "kube-vip");
  unless(needs.gpus, "toolkit");
  unless(native && cluster.gpu.allocator == spec::Allocator::device_plugin, "device-plugin");
  unless(native && cluster.gpu.allocator == spec::Allocator::dra, "dra");
  std::erase_if(sources.files, [&](const SourceFile& file) {
    const bool other_system =
        !file.os.empty() && !needs.families.empty() && !needs.families.contains(file.os);
    return without.contains(file.part) || other_system;
  });
  std::erase_if(sources.images, [&](const SourceImage& image) { return without.contains(image.part); });
  // Docker knows an image by a digest only if it pulled it.
  if (cluster.runtime.engine == spec::Engine::docker)
    for (SourceImage& image : sources.images) image.name = image.name.substr(0, image.name.find('@'));
  return {};
}

Result<std::vector<std::string>> catalog_images(const assets::Store& store, const BundleNeeds& needs,
                                                const CatalogImages& group,
                                                const std::vector<std::string>& names) {
  std::vector<std::string> images;
  if (names.empty()) return images;
  constexpr const char* file = "playbooks/catalog.yaml";
  const Tree catalog = TRY(base::yaml::read(TRY(store.read(file)), file));
  const Tree* rows = catalog.find(group.section);
  std::vector<std::string> known;
  if (rows)
    for (const auto& [name, row] : rows->entries()) known.push_back(name);
  for (const std::string& name : names) {
    const Tree* row = rows ? rows->find(name) : nullptr;
    const Tree* entries = row && row->is_map() ? row->find("images") : row;
    if (!entries)
      return base::fail(Fault::usage,
                        fmt::format("{} {}: unknown {}", group.option, base::printable(name, 50), group.noun),
                        "known: " + base::join(known, ", ") + "; other images: --image NAME");
    for (const Tree& entry : entries->items())
      if (needs.gpus || !entry.find("cuda")) images.push_back(text_at(entry, {"image"}));
  }
  return images;
}

Result<std::vector<std::string>> addon_images(const playbook::Catalog& catalog,
                                              const base::Version& kubernetes,
                                              const std::vector<std::string>& addons) {
  std::vector<std::string> images;
  for (const std::string& name : addons) {
    const workload::Addon* addon = TRY(workload::find_installable_addon(name));
    for (const std::string_view key : addon->images)
      images.push_back(TRY(fill(fmt::format("{{{}}}", key), {}, catalog, kubernetes)));
  }
  return images;
}

std::optional<std::string> find_sum(std::string_view text, std::string_view file) {
  const auto is_sum = [](std::string_view word) {
    return word.size() == 64 && word.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
  };
  for (const std::string_view line : base::lines(text)) {
    const auto words = base::words(line);
    if (words.empty() || !is_sum(words[0])) continue;
    if (words.size() == 1) return base::lower(words[0]);
    std::string_view name = words[1];
    if (name.starts_with('*')) name.remove_prefix(1);
    if (name.substr(name.rfind('/') + 1) == file) return base::lower(words[0]);
  }
  return std::nullopt;
}

std::optional<std::string> find_in_index(std::string_view text, std::string_view file) {
  bool is_it = false;
  std::string sum;
  const auto value_of = [](std::string_view line) { return base::trim(line.substr(line.find(':') + 1)); };
  for (const std::string_view line : base::lines(text)) {
    if (base::trim(line).empty()) {
      if (is_it && !sum.empty()) return sum;
      is_it = false;
      sum.clear();
    } else if (line.starts_with("Filename:")) {
      const std::string_view name = value_of(line);
      is_it = name.substr(name.rfind('/') + 1) == file;
    } else if (line.starts_with("SHA256:")) {
      sum = base::lower(value_of(line));
    }
  }
  if (is_it && !sum.empty()) return sum;
  return std::nullopt;
}

}  // namespace commands
