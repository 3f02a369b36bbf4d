#include "commands/inspect/demo.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/session/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace commands {
namespace {

using base::Tree;

/// Keys of a fault itself edit this host, which every recording has.
constexpr const char* first_host = "host1";

std::unexpected<base::Error> bad(const std::string& path, const std::string& name, std::string_view what) {
  return base::fail(base::Fault::parse, fmt::format("{}: {}: {}", path, name, what));
}

std::vector<std::string> words_of(const Tree& list) {
  std::vector<std::string> words;
  for (const Tree& word : list.items()) words.push_back(word.text());
  return words;
}

Result<> read_key(Demo& demo, const std::string& key, const Tree& value, const std::string& path) {
  if (key == "stage") {
    const auto stage = session::stage_named(value.text());
    if (!stage || *stage == checks::Stage::cluster) return bad(path, demo.name, "stage is preflight or node");
    demo.stage = *stage;
  } else if (key == "title") {
    demo.title = value.text();
  } else if (key == "machine") {
    demo.machine = value.text();
  } else if (key == "leads") {
    demo.leads = value.text();
  } else if (key == "folds") {
    demo.folds = words_of(value);
  } else if (key == "beside") {
    demo.beside = words_of(value);
  } else if (key == "hosts") {
    demo.hosts.merge(value);
  } else if (key == "change" || key == "everywhere" || key == "without" || key == "probe") {
    demo.hosts[first_host].set(key, value);
  } else if (key == "cluster") {
    demo.cluster = value;
  } else {
    return bad(path, demo.name, fmt::format("unknown key of a fault: '{}'", key));
  }
  return {};
}

Result<Demo> read_demo(const std::string& path, const std::string& name, const Tree& tree) {
  Demo demo{.name = name};
  for (const auto& [key, value] : tree.entries()) TRY(read_key(demo, key, value, path));
  for (const auto* text : {&demo.title, &demo.machine, &demo.leads})
    if (text->empty()) return bad(path, name, "title, machine and leads are required");
  return demo;
}

}  // namespace

Result<std::vector<Demo>> demos(const assets::Store& assets) {
  std::vector<Demo> all;
  for (const std::string& path : assets.list("data/faults/")) {
    if (!path.ends_with(".yaml")) continue;
    const Tree tree = TRY(base::yaml::read(TRY(assets.read(path)), path));
    for (const auto& [name, fault] : tree.entries()) {
      if (std::ranges::find(all, name, &Demo::name) != all.end()) return bad(path, name, "duplicate name");
      all.push_back(TRY(read_demo(path, name, fault)));
    }
  }
  return all;
}

Result<session::ClusterSurvey> recording_of(const Demo& demo, const assets::Store& assets) {
  const std::string folder = "data/recordings/" + demo.machine;
  return session::read_recording([&](const std::string& file) { return assets.read(folder + "/" + file); },
                                 folder, Tree::map_of({{"hosts", demo.hosts}, {"cluster", demo.cluster}}));
}

}  // namespace commands
