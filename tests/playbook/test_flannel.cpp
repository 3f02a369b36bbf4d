#include "gpuadm/base/yaml.hpp"

#include "playbook/sample.hpp"

namespace {

/// Of a catalog with another image of flannel.
std::string ready_path(const std::string& image) {
  const Sample sample;
  const playbook::Catalog catalog{
      base::yaml::read("defaults: { flannel_image: '" + image + "' }", "catalog").value()};
  return playbook::variable("flannel_ready_path",
                            {sample.cluster, sample.decisions, sample.cluster.hosts.front(), sample.facts,
                             catalog, nullptr, sample.kubernetes})
      .value();
}

}  // namespace

TEST_CASE("flannel is asked for /readyz only where its image is new enough to have it") {
  CHECK(ready_path("ghcr.io/flannel-io/flannel:v0.28.9") == "/readyz");
  CHECK(ready_path("192.0.2.1:5000/flannel:v1.0.0") == "/readyz");
  CHECK(ready_path("ghcr.io/flannel-io/flannel:v0.28.5") == "/healthz");
  CHECK(ready_path("ghcr.io/flannel-io/flannel:v0.27.4-amd64") == "/healthz");
  CHECK(ready_path("192.0.2.1:5000/flannel") == "/healthz");
  CHECK(ready_path("flannel:latest") == "/healthz");
  CHECK(ready_path("flannel:v0.29.0@sha256:0123456789abcdef") == "/healthz");
}
