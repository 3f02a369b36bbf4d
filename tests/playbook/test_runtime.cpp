#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/toml.hpp"

#include "playbook/sample.hpp"

#include <filesystem>

// tests/cases/<engine>/<case>/: the configuration (missing: there is none), version (of the engine), imports/
// (what lies in its folder of drop-ins), nvidia (the toolkit is there), kubernetes (a version),
// default-runtime (as in a cluster file), mirrors (registry and URL a line); expected/ holds every file that
// is to be written, by its name.

namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

struct Engine {
  spec::Engine engine;
  const char* composer;
  const char* config;   ///< name in a case
  const char* path;     ///< on a host
  const char* imports;  ///< folder on a host
};
constexpr Engine containerd = {spec::Engine::containerd, "containerd-config", "config.toml",
                               "/etc/containerd/config.toml", "/etc/containerd/conf.d/"};
constexpr Engine docker = {spec::Engine::docker, "docker-daemon", "daemon.json", "/etc/docker/daemon.json",
                           ""};
constexpr Engine crio = {spec::Engine::crio, "crio-config", "crio.conf", "/etc/crio/crio.conf",
                         "/etc/crio/crio.conf.d/"};

std::optional<std::string> word(const fs::path& file) {
  if (!fs::exists(file)) return std::nullopt;
  return std::string(base::trim(*base::read_file(file)));
}

Files files_of(const fs::path& folder, const std::string& as) {
  Files files;
  if (fs::exists(folder))
    for (const auto& entry : fs::directory_iterator(folder))
      files[as + entry.path().filename().string()] = *base::read_file(entry.path());
  return files;
}

/// The files on the host into its facts.
void place(Sample& sample, const Engine& engine, const Files& files) {
  for (const auto& [path, text] : files) {
    if (engine.engine == spec::Engine::crio) {
      if (!sample.facts.runtime.crio_config) sample.facts.runtime.crio_config.emplace();
      sample.facts.runtime.crio_config->texts[path] = text;
    } else if (engine.engine == spec::Engine::docker) {
      sample.facts.runtime.docker->daemon_json = text;
    } else if (path == engine.path) {
      sample.facts.runtime.containerd->config = text;
    } else {
      sample.facts.runtime.containerd->drop_in_texts[path] = text;
    }
  }
}

/// A host as the case has it.
Sample sample_of(const fs::path& folder, const Engine& engine) {
  Sample sample;
  sample.cluster.runtime.engine = engine.engine;
  const std::string version = *word(folder / "version");
  sample.facts.runtime.containerd->version = version;
  sample.facts.runtime.docker->version = version;
  sample.facts.runtime.crio = version;
  if (fs::exists(folder / "nvidia")) sample.facts.software.tools = {"nvidia-container-runtime"};
  if (const auto kubernetes = word(folder / "kubernetes"))
    sample.kubernetes = *base::Version::parse(*kubernetes);
  if (word(folder / "default-runtime") == "nvidia")
    sample.cluster.runtime.default_runtime = spec::DefaultRuntime::nvidia;
  const std::string mirrors = base::read_file(folder / "mirrors").value_or("");
  for (const std::string_view line : base::lines(mirrors))
    if (const auto words = base::words(line); words.size() == 2)
      sample.cluster.mirrors.registries[std::string(words[0])] = words[1];
  Files files = files_of(folder / "imports", engine.imports);
  if (fs::exists(folder / engine.config)) files[engine.path] = *base::read_file(folder / engine.config);
  place(sample, engine, files);
  return sample;
}

Files composed(const Sample& sample, const Engine& engine) {
  Files files;
  const auto all = playbook::compose(engine.composer, sample.context());
  if (!all) FAIL(all.error().what);
  for (const playbook::Composed& file : *all) files[file.path] = file.content;
  const auto effective = playbook::effective(sample.context(), *all);
  if (!effective) FAIL(effective.error().what);
  return files;
}

std::size_t check_cases(const std::string& name, const Engine& engine) {
  std::size_t cases = 0;
  for (const auto& entry : fs::directory_iterator(GPUADM_TESTS_DIR "/cases/" + name)) {
    CAPTURE(entry.path().string());
    Sample sample = sample_of(entry.path(), engine);
    const Files files = composed(sample, engine);
    const fs::path expected = entry.path() / "expected";
    Files by_name;
    for (const auto& [path, text] : files) by_name[fs::path(path).filename().string()] = text;
    if (std::getenv("GPUADM_REWRITE_CASES")) {
      fs::remove_all(expected);
      for (const auto& [file, text] : by_name) REQUIRE(base::write_file(expected / file, text, 0644));
    }
    CHECK(by_name == files_of(expected, ""));
    place(sample, engine, files);
    for (const auto& [path, text] : composed(sample, engine)) {
      CAPTURE(path);
      CHECK(files.contains(path));
      CHECK(text == files.at(path));
    }
    ++cases;
  }
  return cases;
}

/// A setting of the effective configuration.
std::string setting(const Sample& sample, const Engine& engine, const std::vector<std::string>& path) {
  const auto all = playbook::compose(engine.composer, sample.context());
  REQUIRE(all);
  const auto tree = playbook::effective(sample.context(), *all);
  REQUIRE(tree);
  const base::Tree* found = tree->at(path);
  return found ? found->text() : "";
}

}  // namespace

TEST_CASE(
    "containerd: every starting configuration serves Kubernetes afterwards, and a second time nothing "
    "changes") {
  CHECK(check_cases("containerd", containerd) >= 20);
}

TEST_CASE("docker: every daemon.json serves the kubelet afterwards, and a second time nothing changes") {
  CHECK(check_cases("docker", docker) >= 8);
}

TEST_CASE("crio: a drop-in with every configuration, and a second time nothing changes") {
  CHECK(check_cases("crio", crio) >= 3);
}

TEST_CASE("containerd: a configuration that cannot be read is refused with its place, not written over") {
  Sample sample;
  const auto refuses = [&](const std::string& text, const std::string& place) {
    sample.facts.runtime.containerd->config = text;
    const auto all = playbook::compose("containerd-config", sample.context());
    REQUIRE(!all);
    CHECK(all.error().what.find(place) != std::string::npos);
  };
  refuses("version = 2\n[plugins\n", "/etc/containerd/config.toml:2:");
  refuses("version = 2\n[grpc]\n  uid = 0\n[grpc]\n  gid = 0\n", "/etc/containerd/config.toml:4:");
  refuses("version = 2\nversion = 3\n", "/etc/containerd/config.toml:2:");
  refuses("version = 2\nimports = [\"/etc/containerd/gone.toml\"]\n",
          "/etc/containerd/config.toml:2:12: imports");
}

TEST_CASE(
    "containerd: a configuration of a version that this containerd does not read is refused with its place") {
  Sample sample;
  const auto refuses = [&](const char* engine, const std::string& text, const std::string& message) {
    CAPTURE(engine);
    CAPTURE(text);
    sample.facts.runtime.containerd->version = engine;
    sample.facts.runtime.containerd->config = text;
    const auto all = playbook::compose("containerd-config", sample.context());
    REQUIRE(!all);
    CHECK(all.error().what.find(message) != std::string::npos);
  };
  refuses("1.6.32", "version = 3\n",
          "/etc/containerd/config.toml:1:11: version = 3, but containerd 1.6.32 reads");
  refuses("1.7.24", "version = 3\n", "reads at most version 2");
  refuses("2.1.4", "version = 4\n", "reads at most version 3");
  refuses("2.2.0", "version = 4\n", "reads at most version 3");
  refuses("2.3.0", "version = 99\n", "version = 99, but containerd 2.3.0 reads at most version 4");
  refuses("1.7.24", "version = \"2\"\n", "/etc/containerd/config.toml:1:11: version must be a number");
  refuses("1.7.24", "version = -1\n", "version must be a number");
}

TEST_CASE(
    "containerd: a version 1 file with plugin tables is edited for containerd 1 and refused for containerd "
    "2") {
  Sample sample;
  sample.facts.runtime.containerd->config = "[plugins.cri]\n  stream_server_port = \"0\"\n";
  CHECK(playbook::compose("containerd-config", sample.context()));
  sample.facts.runtime.containerd->version = "2.1.4";
  const auto all = playbook::compose("containerd-config", sample.context());
  REQUIRE(!all);
  CHECK(all.error().what.find("/etc/containerd/config.toml: version 1 of the configuration") !=
        std::string::npos);
}

TEST_CASE("containerd: an import that containerd would refuse is refused before anything is written") {
  Sample sample;
  sample.facts.runtime.containerd->version = "2.1.4";
  sample.facts.runtime.containerd->config = "version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n";
  std::string& text = sample.facts.runtime.containerd->drop_in_texts["/etc/containerd/conf.d/a.toml"];
  const auto what = [&] { return playbook::compose("containerd-config", sample.context()).error().what; };
  text = "version = 3\n";
  CHECK(what().find("/etc/containerd/conf.d/a.toml: version = 3, but /etc/containerd/config.toml has 2") !=
        std::string::npos);
  text = "version = \n";
  CHECK(what().find("/etc/containerd/conf.d/a.toml:1:") != std::string::npos);
}

TEST_CASE("containerd: what gpuadm writes is in force, whichever file had the last word") {
  for (const char* name : {"import-with-whole-table-1.7", "import-with-nvidia-2.1"}) {
    CAPTURE(name);
    const Sample sample = sample_of(fs::path(GPUADM_TESTS_DIR "/cases/containerd") / name, containerd);
    const std::string plugin =
        std::string(name).ends_with("2.1") ? "io.containerd.cri.v1.runtime" : "io.containerd.grpc.v1.cri";
    for (const char* runtime : {"runc", "nvidia"})
      CHECK(setting(sample, containerd,
                    {"plugins", plugin, "containerd", "runtimes", runtime, "options", "SystemdCgroup"}) ==
            "true");
  }
}

TEST_CASE("containerd: a patch of the operator's has the last word, and stays after a second run") {
  Sample sample;
  sample.cluster.patches.runtime = *base::toml::read(
      "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]\nSystemdCgroup = false\n",
      "patch");
  const Files files = composed(sample, containerd);
  place(sample, containerd, files);
  CHECK(composed(sample, containerd) == files);
  CHECK(setting(sample, containerd,
                {"plugins", "io.containerd.grpc.v1.cri", "containerd", "runtimes", "runc", "options",
                 "SystemdCgroup"}) == "false");
}

TEST_CASE("the nvidia runtime is the default where asked for, and where pods cannot name it") {
  Sample sample;
  sample.facts.software.tools = {"nvidia-container-runtime"};
  const std::vector<std::string> in_containerd = {"plugins", "io.containerd.grpc.v1.cri", "containerd",
                                                  "default_runtime_name"};
  CHECK(setting(sample, containerd, in_containerd).empty());
  sample.kubernetes = {1, 13, 0};
  CHECK(setting(sample, containerd, in_containerd) == "nvidia");
  sample.cluster.runtime.default_runtime = spec::DefaultRuntime::runc;
  CHECK(setting(sample, containerd, in_containerd) == "runc");
  sample.cluster.runtime.engine = spec::Engine::docker;
  sample.cluster.runtime.default_runtime = spec::DefaultRuntime::automatic;
  sample.kubernetes = {1, 23, 4};
  CHECK(setting(sample, docker, {"default-runtime"}) == "nvidia");
  sample.kubernetes = {1, 24, 0};
  CHECK(setting(sample, docker, {"default-runtime"}).empty());
}

TEST_CASE("docker: a daemon.json that Docker would refuse is refused with its place") {
  Sample sample;
  sample.cluster.runtime.engine = spec::Engine::docker;
  const auto refuses = [&](const char* text, const std::string& place) {
    sample.facts.runtime.docker->daemon_json = text;
    const auto all = playbook::compose("docker-daemon", sample.context());
    REQUIRE(!all);
    CHECK(all.error().what.find(place) != std::string::npos);
  };
  refuses("{ \"half\": ", "daemon.json:1:");
  refuses("[]", "a JSON object is needed");
  refuses("{ \"exec-opts\": \"x=y\" }", "exec-opts must be a list");
}

TEST_CASE("a runtime that is started in a way that the file would not count, or would stop it, is refused") {
  Sample sample;
  auto& units = sample.facts.software.units;
  units["containerd.service"].command = "/usr/bin/containerd --config /opt/containerd.toml";
  auto composed = playbook::compose("containerd-config", sample.context());
  REQUIRE(!composed);
  CHECK(composed.error().what.find("containerd.service reads /opt/containerd.toml") != std::string::npos);
  units["containerd.service"].command = "/usr/bin/containerd -c=/etc/containerd/config.toml";
  CHECK(playbook::compose("containerd-config", sample.context()));
  units["docker.service"].command = "/usr/bin/dockerd --exec-opt native.cgroupdriver=systemd";
  composed = playbook::compose("docker-daemon", sample.context());
  REQUIRE(!composed);
  CHECK(composed.error().what.find("--exec-opt") != std::string::npos);
}

TEST_CASE("containerd: gpuadm's own file that lies there unread is read again, and replaced as what it is") {
  Sample sample;
  sample.facts.runtime.containerd->version = "2.1.4";
  const Files files = composed(sample, containerd);
  place(sample, containerd, files);
  sample.facts.runtime.containerd->config = std::nullopt;
  CHECK(composed(sample, containerd) == files);
  const auto all = playbook::compose("containerd-config", sample.context());
  CHECK(all->front().base_sha256 == base::sha256(files.at("/etc/containerd/conf.d/zz-gpuadm.toml")));
}

TEST_CASE("NVIDIA's repository is named by the release whose packages the host has") {
  Sample sample;
  const auto release = [&](const char* id, const char* version) {
    sample.facts.os.parent_id = id;
    sample.facts.os.parent_version_id = version;
    return playbook::variable("cuda_release", sample.context()).value_or("none");
  };
  CHECK(release("ubuntu", "24.04") == "ubuntu2404");
  CHECK(release("debian", "12") == "debian12");
}
