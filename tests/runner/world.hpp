#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/report/reporters.hpp"
#include "gpuadm/run/run.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <unistd.h>

#include <filesystem>

/// The real runner and the real prelude, on this machine through the local transport; only the journal's
/// folder is another.
struct World {
  std::filesystem::path place =
      std::filesystem::temp_directory_path() / fmt::format("gpuadm-run-{}", ::getpid());
  transport::SessionPtr session = transport::make_session({}, {});
  transport::Fleet fleet{4, nullptr};
  report::Collector seen;
  plan::Plan plan;
  run::Scripts scripts;
  std::string undo_functions;
  run::Identity who = run::identity().value();

  World() {
    std::filesystem::remove_all(place);
    std::filesystem::create_directories(place);
    fleet.add("box", transport::open(*session, "box", *spec::parse_target("")));
    const assets::Store store = *assets::Store::open({});
    scripts.prelude =
        base::replace_all(*store.read("playbooks/prelude.sh"), "/var/lib/gpuadm", home().string());
    scripts.lock = *store.read("playbooks/lock.sh");
    undo_functions = *store.read("playbooks/undo.sh");
    plan.prelude = scripts.prelude;
    plan.stages.push_back({"one", "The only phase", false, {{"box", {}}}});
  }
  ~World() { std::filesystem::remove_all(place); }
  [[nodiscard]] std::filesystem::path home() const { return place / "home"; }
  [[nodiscard]] std::string journal() const { return base::read_file(home() / "journal/log").value_or(""); }

  plan::Action& add(plan::Kind kind, const std::string& id, const std::string& check,
                    const std::string& apply) {
    plan::Action action;
    action.id = id;
    action.title = id;
    action.kind = kind;
    action.check = check;
    action.apply = apply;
    action.variables = {{"place", place.string()}};
    plan.stages[0].walks[0].actions.push_back(action);
    return plan.stages[0].walks[0].actions.back();
  }
  void add_file(const std::string& path, const std::string& content, const std::string& base = "") {
    plan::Action& action = add(plan::Kind::file, "file:" + path, "file_is \"$path\" \"$mode\"\n",
                               "file_put \"$path\" \"$mode\" \"$restarts\"\n");
    action.path = path;
    action.variables = {
        {"path", path}, {"mode", "0640"}, {"content", content}, {"restarts", ""}, {"base_sha256", base}};
  }
  run::Outcome execute(run::Mode mode) { return run::execute(plan, fleet, seen, mode, who); }
  void lock() { REQUIRE(run::lock({"box"}, fleet, seen, scripts, who)); }
  void unlock() { run::unlock({"box"}, fleet, seen, scripts, who); }
  [[nodiscard]] std::string last_failure() const {
    for (auto event = seen.events().rbegin(); event != seen.events().rend(); ++event)
      if (event->did == report::Did::failed) return event->detail;
    return {};
  }
};

inline bool is_root() {
  if (::geteuid() == 0) return true;
  MESSAGE("left out: needs root");
  return false;
}
