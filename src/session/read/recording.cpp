#include "gpuadm/session/recording.hpp"

#include "gpuadm/base/fault.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/facts/edit.hpp"
#include "gpuadm/spec/selected.hpp"

#include <fmt/format.h>

#include <random>

namespace session {

namespace {

namespace fs = std::filesystem;
using base::Fault;
using base::Tree;

constexpr const char* form = "gpuadm-recording/1";
constexpr const char* view_file = "cluster.txt";

/// The cluster file without connection settings, which are useless elsewhere. A host's name is replaced even
/// if it is a common word.
Tree without_logins(const spec::Cluster& cluster, facts::Redactor& redact) {
  Tree tree = spec::to_tree(cluster);
  tree.erase("ssh");
  if (Tree* hosts = tree.find("hosts"))
    for (Tree& host : hosts->items()) {
      for (const char* key : {"identityFile", "hostKey", "user", "port"}) host.erase(key);
      if (const Tree* name = host.find("name")) host.set("name", redact.name(name->text()));
    }
  if (Tree* storages = tree.find("storage"))
    for (Tree& storage : storages->items())
      if (const Tree* host = storage.find("host")) storage.set("host", redact.name(host->text()));
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
                    fmt::format("{}: unknown fault: '{}'", source, base::printable(text("fault"), 50)));
}

Result<facts::Facts> read_host(std::string probe, const Tree& about, Survey& survey, const std::string& name,
                               Texts texts) {
  facts::Facts facts = TRY(facts::parse(probe));
  if (const Tree* offset = about.find("clockOffset")) facts.clock.offset = offset->as_real();
  if (texts == Texts::kept) survey.probes[name] = std::move(probe);
  return facts;
}

Result<spec::Cluster> cluster_named(const std::string& host) {
  return spec::parse(
      fmt::format(
          "apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nhosts:\n  - {{ name: {}, address: 192.0.2.1 }}\n",
          host),
      "recording");
}

/// A directory created manually: one probe.txt.
Result<ClusterSurvey> load_probe(const fs::path& folder, Texts texts) {
  std::string name = base::lower(fs::absolute(folder).lexically_normal().filename().string());
  if (name.empty())
    name = base::lower(fs::absolute(folder).lexically_normal().parent_path().filename().string());
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '-';
  ClusterSurvey recording{TRY(cluster_named(name)), {}, {}};
  std::string probe = TRY(base::read_file_within(folder, "probe.txt"));
  recording.survey.census.emplace(name, TRY(read_host(std::move(probe), {}, recording.survey, name, texts)));
  return recording;
}

}  // namespace

facts::Redactor redactor_for(const ClusterSurvey& recording) {
  std::random_device random;
  std::string salt;
  for (int i = 0; i < 8; ++i) salt += fmt::format("{:08x}", random());
  facts::Redactor redactor(std::move(salt));
  learn_names(recording.cluster, redactor);
  for (const auto& [host, probe] : recording.survey.probes) redactor.learn_from(probe);
  if (recording.view) redactor.learn_from(*recording.view);
  return redactor;
}

Result<> save_recording(const fs::path& folder, const ClusterSurvey& recording, facts::Redactor redact) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_empty(folder, error))
    return base::fail(Fault::usage, fmt::format("--record {}: not empty", folder.string()),
                      "specify a new directory");
  Tree hosts = Tree::map();
  for (const auto& [host, facts] : recording.survey.census) {
    const std::string name = redact.name(host);
    Tree about = Tree::map();
    if (facts && facts->clock.offset) about.set("clockOffset", *facts->clock.offset);
    if (!facts) {
      about.set("fault", base::name_of(facts.error().fault));
      about.set("what", redact(facts.error().what));
      about.set("hint", redact(facts.error().hint));
    }
    hosts.set(name, about);
    if (const auto probe = recording.survey.probes.find(host); probe != recording.survey.probes.end())
      TRY(base::write_file(folder / "hosts" / name / "probe.txt", redact(probe->second)));
  }
  if (recording.view) TRY(base::write_file(folder / view_file, redact(*recording.view)));
  TRY(base::write_file(folder / "cluster.yaml",
                       redact(base::yaml::write(without_logins(recording.cluster, redact)))));
  return base::write_file(folder / "recording.yaml",
                          base::yaml::write(Tree::map_of({{"form", form},
                                                          {"gpuadm", GPUADM_VERSION},
                                                          {"made", base::iso8601(base::now())},
                                                          {"hosts", hosts}})));
}

Result<ClusterSurvey> read_recording(const ReadFile& read, const std::string& place, const Tree& over,
                                     Texts texts) {
  const std::string index = place + "/recording.yaml";
  Tree tree = TRY(base::yaml::read(TRY(read("recording.yaml")), index));
  const Tree* written = tree.find("form");
  if (!written || written->text() != form)
    return base::fail(Fault::parse, fmt::format("{}: expected '{}'", index, form));
  Tree cluster = TRY(base::yaml::read(TRY(read("cluster.yaml")), place + "/cluster.yaml"));
  if (const Tree* changes = over.find("cluster"); changes && changes->is_map()) cluster.merge(*changes);
  ClusterSurvey recording{
      TRY(spec::parse_selected(base::yaml::write(cluster), place + "/cluster.yaml")), {}, {}};
  if (auto view = read(view_file)) recording.view = std::move(*view);
  Tree* hosts = tree.find("hosts");
  if (!hosts || !hosts->is_map())
    return base::fail(Fault::parse, fmt::format("{}: hosts: expected a map", index));
  if (const Tree* changes = over.find("hosts"); changes && changes->is_map()) {
    for (const auto& [name, changed] : changes->entries())
      if (!hosts->find(name)) return base::fail(Fault::parse, fmt::format("{} has no host {}", place, name));
    hosts->merge(*changes);
  }
  for (const auto& [name, about] : hosts->entries()) {
    if (name.find('/') != name.npos || name.starts_with('.'))
      return base::fail(Fault::parse,
                        fmt::format("{}: invalid host name: '{}'", index, base::printable(name, 50)));
    if (about.find("fault")) {
      recording.survey.census.emplace(name, std::unexpected(TRY(read_error(about, index))));
      continue;
    }
    const auto probe = read("hosts/" + name + "/probe.txt");
    if (!probe) {
      recording.survey.census.emplace(name, std::unexpected(probe.error()));
      continue;
    }
    recording.survey.census.emplace(
        name, read_host(TRY(facts::edited(*probe, about)), about, recording.survey, name, texts));
  }
  return recording;
}

namespace {

Result<ClusterSurvey> load(const fs::path& folder, Texts texts) {
  std::error_code error;
  const auto has = [&](const char* name) { return fs::exists(fs::symlink_status(folder / name, error)); };
  if (!has("recording.yaml")) {
    if (has("probe.txt")) return load_probe(folder, texts);
    return base::fail(Fault::usage, fmt::format("{}: not a recording: no recording.yaml", folder.string()),
                      "create one with gpuadm doctor --record DIR");
  }
  const auto read = [&](const std::string& file) { return base::read_file_within(folder, file); };
  ClusterSurvey recording = TRY(read_recording(read, folder.string(), {}, texts));
  if (!recording.view && has(view_file))
    TRY(read(view_file));  // it exists but cannot be read: returns the reason
  return recording;
}

}  // namespace

Result<ClusterSurvey> load_recording(const fs::path& folder, Texts texts) {
  auto recording = load(folder, texts);
  if (recording || recording.error().fault != Fault::parse) return recording;
  return base::fail(Fault::usage, recording.error().what, "create one with gpuadm doctor --record DIR");
}

}  // namespace session
