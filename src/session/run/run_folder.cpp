#include "gpuadm/session/run_folder.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/report/findings.hpp"
#include "gpuadm/session/census.hpp"

#include <fmt/format.h>

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace session {

Result<RunFolder> RunFolder::make(std::string_view cluster) {
  const std::filesystem::path parent = base::state_directory() / cluster;
  const auto refuse = [&](std::string_view why) {
    return base::fail(base::Fault::usage, fmt::format("{}: {}", parent.string(), why),
                      "set XDG_STATE_HOME to a directory that you can write to");
  };
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) return refuse(error.message());
  const std::string name = base::stamp(base::now());
  for (int i = 1; i < 100; ++i) {
    std::filesystem::path path = parent / (i == 1 ? name : fmt::format("{}-{}", name, i));
    if (::mkdir(path.c_str(), 0700) == 0) return RunFolder(std::move(path));
    if (errno != EEXIST) return refuse(std::strerror(errno));
  }
  return refuse("too many runs in one second");
}

Result<> RunFolder::save(std::string_view name, const base::Tree& tree) const {
  return save_text(name, name.ends_with(".yaml") ? base::yaml::write(tree) : base::json::write(tree) + "\n");
}

Result<> RunFolder::save_results(const spec::Cluster& cluster, const facts::Census& census,
                                 std::span<const report::Finding> findings) const {
  TRY(save("cluster.yaml", spec::to_tree(cluster)));
  TRY(base::write_file(path_ / "facts.json", [&](const base::Sink& sink) { write_json(census, sink); }));
  return base::write_file(path_ / "findings.json",
                          [&](const base::Sink& sink) { report::write_json(findings, sink); });
}

Result<> RunFolder::save_decisions(const spec::Cluster& cluster, const spec::Decisions& decisions) const {
  TRY(save("cluster.yaml", spec::to_tree(spec::completed(cluster, decisions))));
  return save("decisions.json", spec::to_tree(decisions));
}

Result<> RunFolder::save_text(std::string_view name, std::string_view text) const {
  return base::write_file(path_ / name, text, 0600);
}

}  // namespace session
