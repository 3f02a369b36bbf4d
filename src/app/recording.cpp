#include "app/recording.hpp"

#include "gpuadm/base/fault.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/base/yaml.hpp"

#include <fmt/format.h>

#include <random>

namespace app {

namespace {

namespace fs = std::filesystem;
using base::Fault;
using base::Tree;

constexpr const char* form = "gpuadm-recording/1";
constexpr const char* view_file = "cluster.txt";

/// The cluster file without what only connects: the ways there are of no use elsewhere. A host's name is
/// replaced even where it could be another word.
Tree without_ways(const spec::Cluster& cluster, facts::Redactor& redact) {
  Tree tree = spec::to_tree(cluster);
  tree.erase("ssh");
  if (Tree* hosts = tree.find("hosts"))
    for (Tree& host : hosts->items()) {
      for (const char* key : {"identityFile", "hostKey", "user", "port"}) host.erase(key);
      if (const Tree* name = host.find("name")) host.set("name", redact.name(name->text()));
    }
  return tree;
}

Result<base::Error> read_error(const Tree& host, const std::string& source) {
  const auto text = [&](const char* key) {
    const Tree* value = host.find(key);
    return value ? value->text() : std::string();
  };
  if (const auto fault = base::fault_named(text("fault")))
    return base::Error{*fault, text("what"), text("hint")};
  return base::fail(Fault::parse,
                    fmt::format("{}: no fault is called '{}'", source, base::printable(text("fault"), 50)));
}

Result<facts::Facts> read_host(const fs::path& probe, const Tree* about, Seen& seen, const std::string& name,
                               Texts texts) {
  std::string text = TRY(base::read_file(probe));
  facts::Facts facts = TRY(facts::parse(text));
  if (about)
    if (const Tree* offset = about->find("clockOffset")) facts.clock_offset = offset->as_real();
  if (texts == Texts::kept) seen.probes[name] = std::move(text);
  return facts;
}

Result<spec::Cluster> cluster_named(const std::string& host) {
  return spec::parse(
      fmt::format(
          "apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nhosts:\n  - {{ name: {}, address: 192.0.2.1 }}\n",
          host),
      "recording");
}

/// A folder that someone made by hand: one probe.txt.
Result<Recording> load_probe(const fs::path& folder, Texts texts) {
  std::string name = base::lower(fs::absolute(folder).lexically_normal().filename().string());
  if (name.empty())
    name = base::lower(fs::absolute(folder).lexically_normal().parent_path().filename().string());
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '-';
  Recording recording{TRY(cluster_named(name)), {}, {}};
  recording.seen.census.emplace(name,
                                TRY(read_host(folder / "probe.txt", nullptr, recording.seen, name, texts)));
  return recording;
}

}  // namespace

facts::Redactor redactor_for(const Recording& recording) {
  std::random_device random;
  std::string salt;
  for (int i = 0; i < 8; ++i) salt += fmt::format("{:08x}", random());
  facts::Redactor redactor(std::move(salt));
  for (const spec::Host& host : recording.cluster.hosts) redactor.learn(host.name, "host");
  for (const spec::Host& host : recording.cluster.hosts) redactor.learn(host.endpoint.address, "host");
  for (const auto& [host, probe] : recording.seen.probes) redactor.learn_from(probe);
  if (recording.view) redactor.learn_from(*recording.view);
  if (!recording.cluster.ssh.user.empty()) redactor.learn(recording.cluster.ssh.user, "user");
  return redactor;
}

Result<> save_recording(const fs::path& folder, const Recording& recording, facts::Redactor redact) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_empty(folder, error))
    return base::fail(Fault::usage, fmt::format("--record {}: there is something in it", folder.string()),
                      "name a new folder");
  Tree hosts = Tree::map();
  for (const auto& [host, facts] : recording.seen.census) {
    const std::string name = redact.name(host);
    Tree about = Tree::map();
    if (facts && facts->clock_offset) about.set("clockOffset", *facts->clock_offset);
    if (!facts) {
      about.set("fault", base::name_of(facts.error().fault));
      about.set("what", redact(facts.error().what));
      about.set("hint", redact(facts.error().hint));
    }
    hosts.set(name, about);
    if (const auto probe = recording.seen.probes.find(host); probe != recording.seen.probes.end())
      TRY(base::write_file(folder / "hosts" / name / "probe.txt", redact(probe->second)));
  }
  if (recording.view) TRY(base::write_file(folder / view_file, redact(*recording.view)));
  TRY(base::write_file(folder / "cluster.yaml",
                       redact(base::yaml::write(without_ways(recording.cluster, redact)))));
  return base::write_file(folder / "recording.yaml",
                          base::yaml::write(Tree::map_of({{"form", form},
                                                          {"gpuadm", GPUADM_VERSION},
                                                          {"made", base::iso8601(base::now())},
                                                          {"hosts", hosts}})));
}

Result<Recording> load_recording(const fs::path& folder, Texts texts) {
  std::error_code error;
  const fs::path index = folder / "recording.yaml";
  if (!fs::exists(index, error)) {
    if (fs::exists(folder / "probe.txt", error)) return load_probe(folder, texts);
    return base::fail(Fault::usage,
                      fmt::format("{}: no recording: it has no recording.yaml", folder.string()),
                      "gpuadm doctor --record DIR makes one");
  }
  const Tree tree = TRY(base::yaml::read(TRY(base::read_file(index)), index.string()));
  const Tree* written = tree.find("form");
  if (!written || written->text() != form)
    return base::fail(Fault::parse, fmt::format("{}: this gpuadm reads '{}'", index.string(), form));
  const fs::path file = folder / "cluster.yaml";
  Recording recording{TRY(spec::parse(TRY(base::read_file(file)), file.string())), {}, {}};
  if (fs::exists(folder / view_file, error)) recording.view = TRY(base::read_file(folder / view_file));
  const Tree* hosts = tree.find("hosts");
  if (!hosts) return base::fail(Fault::parse, fmt::format("{}: hosts: is missing", index.string()));
  for (const auto& [name, about] : hosts->entries()) {
    if (name.find('/') != name.npos || name.starts_with('.'))
      return base::fail(Fault::parse,
                        fmt::format("{}: '{}' is no host's name", index.string(), base::printable(name, 50)));
    const fs::path probe = folder / "hosts" / name / "probe.txt";
    if (about.find("fault"))
      recording.seen.census.emplace(name, std::unexpected(TRY(read_error(about, index.string()))));
    else
      recording.seen.census.emplace(name, read_host(probe, &about, recording.seen, name, texts));
  }
  return recording;
}

}  // namespace app
