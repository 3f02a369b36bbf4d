#include "gpuadm/base/yaml.hpp"
#include "gpuadm/playbook/playbook.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "playbook/sample.hpp"

#include <doctest/doctest.h>

namespace {

/// The sample's host, and one that cannot be reached.
struct Hosts {
  Sample sample;
  std::string name = sample.cluster.hosts.front().name;
  facts::Census census;
  Hosts() {
    sample.facts.os.id = "debian";
    sample.facts.os.version_id = "12";
    census.emplace(name, sample.facts);
    sample.cluster.hosts.emplace_back().name = "away";
    census.emplace("away", base::fail(base::Fault::unreachable, "no route"));
  }
};

bundle::Bundle bundle_with(const std::string& package) {
  bundle::Bundle bundle{"/bundle", "b", "1.36.4", "amd64", {"coredns"}, {}};
  bundle.files.push_back(
      {"packages/a.deb", bundle::BundleKind::package, "", "", package, "", std::string(64, 'a')});
  bundle.files.push_back(
      {"apt", bundle::BundleKind::repository, "", "", "", "debian-12", std::string(64, 'b')});
  return bundle;
}

}  // namespace

TEST_CASE("decide: without a bundle, programs come from repositories unless their phase is skipped") {
  const Hosts hosts;
  plan::Choice choice;
  choice.skip_phases = {"gpu/toolkit"};
  spec::Decisions decisions;
  session::decide_supplies(hosts.sample.cluster, hosts.census, nullptr, choice, decisions);
  CHECK(!decisions.without_dns);
  CHECK(decisions.of(hosts.name).runtime == spec::Supply::repositories);
  CHECK(decisions.of(hosts.name).toolkit == spec::Supply::skipped);
  CHECK(!decisions.hosts.contains("away"));
}

TEST_CASE("decide: with a bundle, only what it contains can be installed") {
  const Hosts hosts;
  for (const bool toolkit : {false, true}) {
    const bundle::Bundle bundle = bundle_with(toolkit ? "nvidia-container-toolkit" : "socat");
    spec::Decisions decisions;
    session::decide_supplies(hosts.sample.cluster, hosts.census, &bundle, {}, decisions);
    CHECK(decisions.without_dns);
    CHECK(decisions.of(hosts.name).programs_in_bundle);
    CHECK(decisions.of(hosts.name).runtime == spec::Supply::none);
    CHECK(decisions.of(hosts.name).toolkit == (toolkit ? spec::Supply::bundle : spec::Supply::none));
  }
}

TEST_CASE("decide: a driver only for hosts with GPUs, and only if one is to be installed") {
  Hosts hosts;
  hosts.sample.cluster.hosts.resize(1);
  spec::Cluster& cluster = hosts.sample.cluster;
  spec::Decisions decisions;
  CHECK(session::decide_drivers(cluster, hosts.census, hosts.sample.store, decisions));
  CHECK(decisions.hosts.empty());
  cluster.gpu.driver = spec::DriverPolicy::install;
  cluster.gpu.driver_branch = 580;
  CHECK(session::decide_drivers(cluster, hosts.census, hosts.sample.store, decisions));
  CHECK(decisions.of(hosts.name).driver_branch == 580);
  CHECK(decisions.of(hosts.name).driver_modules == "open");
}

TEST_CASE("decide: the stored cluster file requests the decided version, the cluster does not") {
  Sample sample;
  sample.decisions.kubernetes = base::Version{1, 36, 4};
  const auto files = playbook::compose("cluster-file", sample.context());
  REQUIRE(files);
  const auto file = base::yaml::read(files->front().content, "cluster.yaml");
  REQUIRE(file);
  CHECK(file->at({"kubernetes", "version"})->text() == "1.36.4");
  CHECK(!sample.cluster.kubernetes.version);
  const auto version =
      playbook::kubernetes_version(sample.cluster, sample.decisions, {}, sample.library.catalog(), nullptr);
  CHECK(version->text() == "1.36.4");
}

TEST_CASE("decide: a bundle without the images of the network plugin is refused with their names") {
  Hosts hosts;
  spec::Cluster& cluster = hosts.sample.cluster;
  const base::Version version{1, 36, 4};
  playbook::Catalog catalog{*base::yaml::read(
      "defaults: { flannel_image: ghcr.io/f/flannel:v1, flannel_cni_image: ghcr.io/f/cni:v1 }", "catalog")};
  bundle::Bundle bundle = bundle_with("socat");
  cluster.network.plugin = spec::NetworkPlugin::flannel;
  const auto refused = session::require_network_images(cluster, catalog, version, &bundle, {});
  REQUIRE(!refused);
  CHECK(refused.error().fault == base::Fault::blocked);
  CHECK(refused.error().what.find("flannel: ghcr.io/f/flannel:v1, ghcr.io/f/cni:v1") != std::string::npos);
  plan::Choice choice;
  choice.skip_phases = {"network/cluster"};
  CHECK(session::require_network_images(cluster, catalog, version, &bundle, choice));
  CHECK(session::require_network_images(cluster, catalog, version, nullptr, {}));
  for (const char* image : {"ghcr.io/f/flannel:v1", "ghcr.io/f/cni:v1@sha256:00"})
    bundle.files.push_back(
        {"images/a.tar", bundle::BundleKind::image, "", "", image, "", std::string(64, 'a')});
  CHECK(session::require_network_images(cluster, catalog, version, &bundle, {}));
  bundle.files.clear();
  cluster.network.plugin = spec::NetworkPlugin::bridge;
  CHECK(session::require_network_images(cluster, catalog, version, &bundle, {}));
}
