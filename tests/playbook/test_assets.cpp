// The contract between playbooks, templates and C++: what is named exists.
#include "gpuadm/base/files.hpp"
#include "gpuadm/plan/plan.hpp"

#include "playbook/sample.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>

namespace {
void each_script(const playbook::Step& step, const std::function<void(const std::string&)>& see) {
  const auto scripts = [&](const playbook::Script& script) {
    for (const auto& [family, text] : script.by_family) see(text);
  };
  if (const auto* shell = std::get_if<playbook::Shell>(&step.does))
    scripts(shell->check), scripts(shell->apply);
  if (const auto* wait = std::get_if<playbook::Wait>(&step.does)) scripts(wait->check);
  if (const auto* upload = std::get_if<playbook::Upload>(&step.does))
    scripts(upload->check), scripts(upload->apply);
}
}  // namespace

TEST_CASE(
    "assets: every playbook loads; its variables have a source and its files render, for every engine, "
    "network and source") {
  using spec::Engine, spec::NetworkPlugin, spec::Swap;
  for (const Engine engine : {Engine::containerd, Engine::docker})
    for (const NetworkPlugin plugin : {NetworkPlugin::flannel, NetworkPlugin::bridge})
      for (const bool with_bundle : {false, true}) {
        Sample sample;
        sample.cluster.runtime.engine = engine;
        sample.cluster.network.plugin = plugin;
        sample.cluster.swap = Swap::off;
        if (with_bundle) {
          sample.bundle = bundle::Bundle{"/bundle", "b", "1.20.2", "amd64", {"coredns"}, {}};
          sample.bundle->files.push_back({"images/a.tar", bundle::BundleKind::image, "", "",
                                          "k8s.gcr.io/pause:3.2", "", std::string(64, 'a')});
        }
        facts::Census census;
        census.emplace(sample.cluster.hosts.front().name, sample.facts);
        plan::Choice choice;  // the settings of health checks, which a command gives
        choice.given = {{"health_interval", "30"},
                        {"health_options", "--taint off"},
                        {"metrics_place", "node"},
                        {"metrics_port", "9440"}};
        const auto plan = plan::make(sample.cluster, {}, census, sample.library,
                                     sample.bundle ? &*sample.bundle : nullptr, choice);
        REQUIRE_MESSAGE(plan, (plan ? "" : plan.error().what));
        CHECK(plan->size() > 20);
      }
}

TEST_CASE("assets: every script of every playbook passes shellcheck behind the prelude") {
  if (std::system("command -v shellcheck >/dev/null 2>&1") != 0) {
    MESSAGE("left out: shellcheck is not installed");
    return;
  }
  Sample sample;
  std::string all;
  int count = 0;
  for (const playbook::Phase& phase : sample.library.playbook().phases)
    for (const playbook::Step& step : phase.steps) {
      std::string variables;
      for (const std::string& name : step.reads) variables += name + "=x\n";
      each_script(step, [&](const std::string& text) {
        all += fmt::format("# {}\nstep_{}() (\n{}set -eu\n{}\n)\n", step.id, count++, variables, text);
      });
    }
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("gpuadm-scripts-{}.sh", ::getpid());
  // 2154: what the runner sets; 2034: read by the prelude's functions; 2016: awk; 1091, 2317: called by name.
  REQUIRE(base::write_file(file,
                           "# shellcheck shell=sh disable=SC2154,SC2034,SC2016,SC2317\nbundle_name=x "
                           "bundle_target=x bundle_mode=x bundle_sha256=x content=x\n" +
                               sample.library.prelude() + all));
  CHECK(std::system(fmt::format("shellcheck -s sh -S warning {}", file.string()).c_str()) == 0);
  std::filesystem::remove(file);
}

TEST_CASE("assets: a playbook that is wrong is refused with its place and the nearest name") {
  const assets::Store store = *assets::Store::open({});
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("gpuadm-playbook-{}.yaml", ::getpid());
  const auto error = [&](const char* text) {
    REQUIRE(base::write_file(file, text));
    const auto library = playbook::Library::load_file(store, file);
    REQUIRE(!library);
    return library.error().what.substr(file.string().size());
  };
  CHECK(error("id: x\ntitle: t\nphases:\n  - phase: p\n    title: t\n    stpes: []\n") ==
        ":6:5: unknown key 'stpes' (did you mean 'steps'?)");
  CHECK(error("id: x\ntitle: t\nphases:\n  - phase: p\n    title: t\n    steps:\n      - { id: a, title: t, "
              "on: gpus, shell: { check: x } }\n")
            .find("unknown selector: 'gpus' (did you mean 'gpu'?)") != std::string::npos);
  std::filesystem::remove(file);
}

TEST_CASE("fill: an unknown name is refused, a later one is left standing") {
  CHECK(*playbook::fill("a ${x} $y ${z}", {{"x", "1"}}, {"z"}, "t") == "a 1 $y ${z}");
  CHECK(playbook::fill("${nope}", {}, {}, "templates/t").error().what ==
        "templates/t: unknown variable ${nope}");
  CHECK(!playbook::fill("${open", {}, {}, "t"));
}
