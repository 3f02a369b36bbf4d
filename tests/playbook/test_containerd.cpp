#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/toml.hpp"

#include "playbook/sample.hpp"

#include <filesystem>

// tests/cases/containerd/<case>/: config.toml (missing: there is none), version (of containerd),
// expected.toml.
TEST_CASE(
    "containerd: every starting configuration serves Kubernetes afterwards, and a second time nothing "
    "changes") {
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GPUADM_TESTS_DIR "/cases/containerd")) {
    CAPTURE(entry.path().string());
    Sample sample;
    sample.facts.containerd->version = std::string(base::trim(*base::read_file(entry.path() / "version")));
    if (std::filesystem::exists(entry.path() / "config.toml"))
      sample.facts.containerd->config = *base::read_file(entry.path() / "config.toml");
    const auto composed = playbook::compose("containerd-config", sample.context());
    REQUIRE(composed);
    if (std::getenv("GPUADM_REGENERATE"))
      REQUIRE(base::write_file(entry.path() / "expected.toml", composed->content, 0644));
    CHECK(composed->content == *base::read_file(entry.path() / "expected.toml"));
    REQUIRE(base::toml::read(composed->content, "expected.toml"));
    sample.facts.containerd->config = composed->content;
    CHECK(playbook::compose("containerd-config", sample.context())->content == composed->content);
    ++cases;
  }
  CHECK(cases >= 8);
}

TEST_CASE("containerd: a configuration that cannot be read is refused with its place, not written over") {
  Sample sample;
  sample.facts.containerd->config = "version = 2\n[plugins\n";
  const auto composed = playbook::compose("containerd-config", sample.context());
  REQUIRE(!composed);
  CHECK(composed.error().what.find("/etc/containerd/config.toml:2:") != std::string::npos);
}

TEST_CASE("containerd: the nvidia runtime is named where its toolkit is on the host") {
  Sample sample;
  sample.facts.tools = {"nvidia-container-runtime"};
  const auto tree = base::toml::read(playbook::compose("containerd-config", sample.context())->content, "x");
  const auto* binary = tree->at(
      {"plugins", "io.containerd.grpc.v1.cri", "containerd", "runtimes", "nvidia", "options", "BinaryName"});
  REQUIRE(binary);
  CHECK(binary->text() == "/usr/bin/nvidia-container-runtime");
}

TEST_CASE("docker: daemon.json keeps what the operator set and gains the cgroup driver once") {
  Sample sample;
  sample.cluster.runtime.engine = spec::Engine::docker;
  sample.facts.docker->daemon_json =
      "{\n \"data-root\": \"/disk\", \"exec-opts\": [\"native.cgroupdriver=cgroupfs\", \"x=y\"]\n}\n";
  const auto composed = playbook::compose("docker-daemon", sample.context());
  REQUIRE(composed);
  CHECK(composed->content ==
        "{\n  \"data-root\": \"/disk\",\n  \"exec-opts\": [\n    \"x=y\",\n    "
        "\"native.cgroupdriver=systemd\"\n  ]\n}\n");
  CHECK(composed->base_sha256 == base::sha256(*sample.facts.docker->daemon_json));
  sample.facts.docker->daemon_json = composed->content;
  CHECK(playbook::compose("docker-daemon", sample.context())->content == composed->content);
  sample.facts.docker->daemon_json = "{ \"half\": ";
  CHECK(playbook::compose("docker-daemon", sample.context()).error().what.find("daemon.json:1:") !=
        std::string::npos);
}
