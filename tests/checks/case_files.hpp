#pragma once

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/checks/checks.hpp"
#include "gpuadm/facts/edit.hpp"

#include "case_text.hpp"
#include "sanitizers.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

/// Cases of checks: tests/cases/checks/<id of the check>/<what it shows>.yaml; the README there says what may
/// stand in one.
namespace case_files {

namespace fs = std::filesystem;
using base::Tree;
using report::Finding;

inline const fs::path folder = GPUADM_TESTS_DIR "/cases";

inline std::string edit(const std::string& probe, const Tree& edits) {
  auto text = facts::edited(probe, edits);
  REQUIRE_MESSAGE(text.has_value(), (text ? "" : text.error().what));
  return *text;
}

/// The probe of data/recordings/<machine>.
inline std::string recorded_probe(const std::string& machine) {
  return case_text(fs::path(GPUADM_SOURCE_DIR) / "data/recordings" / machine / "hosts/host1/probe.txt");
}

/// The probe that a host of a case begins with.
inline std::string base_of(const Tree& host) {
  const Tree* base = host.find("base");
  const std::string name = base ? base->text() : "plain";
  const fs::path capture = folder / "facts" / name / "probe.txt";
  return case_text(fs::exists(capture) ? capture : folder / "checks/base" / (name + ".txt"));
}

inline facts::Facts facts_of(const Tree& host, const std::string& probe) {
  auto facts = facts::parse(probe);
  REQUIRE(facts.has_value());
  if (const Tree* offset = host.find("clockOffset")) facts->clock.offset = offset->as_real();
  return *facts;
}

/// The hosts of a case by name.
inline std::map<std::string, Tree> hosts_of(const Tree& test) {
  std::map<std::string, Tree> hosts;
  if (const Tree* several = test.find("hosts"))
    for (const auto& [name, host] : several->entries()) hosts.emplace(name, host);
  else
    hosts.emplace("one", test);
  return hosts;
}

inline bool is_of_cluster(const Tree& test) {
  const Tree* stage = test.find("stage");
  return stage && stage->text() == "cluster";
}

inline spec::Supply supply_named(const Tree* name) {
  using enum spec::Supply;
  const std::map<std::string, spec::Supply> all = {
      {"repositories", repositories}, {"bundle", bundle}, {"skipped", skipped}, {"none", none}};
  return name ? all.at(name->text()) : open;
}

/// The cluster of a case: Kubernetes 1.33 on the hosts of the case, with its `cluster` merged in.
inline spec::Cluster cluster_of(const Tree& test, const std::vector<std::string>& hosts) {
  Tree file = Tree::map_of({{"apiVersion", "gpuadm/v1alpha1"}, {"kind", "GpuCluster"}});
  file.set("kubernetes", Tree::map_of({{"version", "1.33"}}));
  Tree list = Tree::list();
  for (const std::string& name : hosts) {
    const std::string address = fmt::format("192.0.2.{}", 11 + list.items().size());
    list.push(Tree::map_of({{"name", name}, {"address", address}}));
  }
  file.set("hosts", list);
  if (const Tree* over = test.find("cluster")) file.merge(*over);
  auto cluster = spec::parse(base::yaml::write(file), "cluster.yaml");
  REQUIRE_MESSAGE(cluster.has_value(), (cluster ? "" : cluster.error().what));
  if (const Tree* version = test.find("kubernetes"))
    cluster->kubernetes.version = base::Version::parse(version->text());  // "none": as if nothing were known
  return *cluster;
}

/// What the run of a case has decided.
inline spec::Decisions decisions_of(const Tree& test, const std::vector<std::string>& hosts) {
  spec::Decisions decisions;
  const Tree* decided = test.find("settled");
  if (!decided) return decisions;
  for (const std::string& name : hosts) {
    decisions.hosts[name].runtime = supply_named(decided->find("runtime"));
    decisions.hosts[name].toolkit = supply_named(decided->find("toolkit"));
  }
  decisions.may_exist = decided->find("existing") != nullptr;
  return decisions;
}

/// What the control plane of a case says.
inline std::string overview_of(const Tree& test) {
  const Tree* overview = test.find("overview");
  return edit(case_text(folder / "checks/base/cluster.txt"), overview ? *overview : Tree());
}

inline checks::Stage stage_of(const Tree* name) {
  if (name && name->text() == "security") return checks::Stage::security;
  return name && name->text() == "node" ? checks::Stage::node : checks::Stage::preflight;
}

/// What the checks say of a case whose hosts printed these probes, and its control plane this overview.
inline std::vector<Finding> judge(const Tree& test, const std::map<std::string, std::string>& probes,
                                  const checks::Data& data, const std::string& overview) {
  facts::Census census;
  std::vector<std::string> names;
  for (const auto& [name, host] : hosts_of(test)) {
    census.emplace(name, facts_of(host, probes.at(name)));
    names.push_back(name);
  }
  if (is_of_cluster(test)) {
    const auto facts = facts::parse_cluster(overview);
    REQUIRE(facts.has_value());
    return checks::examine_cluster(cluster_of(test, names), census, *facts, data);
  }
  return checks::examine(cluster_of(test, names), decisions_of(test, names), census, data,
                         stage_of(test.find("stage")));
}

/// The probes of a case as its file changes them.
inline std::map<std::string, std::string> probes_of(const Tree& test) {
  std::map<std::string, std::string> probes;
  for (const auto& [name, host] : hosts_of(test)) probes.emplace(name, edit(base_of(host), host));
  return probes;
}

}  // namespace case_files
