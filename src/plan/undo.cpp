#include "gpuadm/plan/undo.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace plan {

namespace {

using base::Fault;
using Line = Journal::Line;

/// "was 644 0 0 1700000000.5 SHA" without the time: a file with only a new time is unchanged.
std::string essence(const Thing& thing, const std::string& state) {
  const auto words = base::words(state);
  if (thing.first != "file" || words.size() != 6 || words[0] != "was") return state;
  return fmt::format("{} {} {} {}", words[1], words[2], words[3], words[5]);
}

std::string shown(const Thing& thing) {
  return base::printable(
      thing.first == "file" || thing.first == "directory" ? thing.second : thing.first + " " + thing.second);
}

/// A package that was not installed: "absent", or only its configuration files, the "rc 1.2-3" of dpkg.
bool was_not_installed(const Line& line) {
  return line.thing.first == "package" &&
         (line.was == "absent" || (line.was.size() > 2 && line.was.compare(1, 2, "c ") == 0));
}

/// The state after gpuadm's changes, from the journal, to detect changes by others.
bool is_watched(const Thing& thing) {
  return thing.first == "file" || thing.first == "sysctl";
}

/// "ii 1.2-3" of dpkg without its letters, which only show whether the version is held.
std::string_view version_of(std::string_view state) {
  return state.size() > 3 && state[1] == 'i' && state[2] == ' ' ? state.substr(3) : state;
}

constexpr std::string_view changed_since = "it was changed by others since (--force restores it)";

constexpr std::string_view kinds[] = {"file",         "directory",   "unit",         "sysctl", "module",
                                      "package",      "image",       "docker-image", "swap",   "mig",
                                      "compute-mode", "persistence", "mode"};

/// Older versions recorded it. ldconfig generates it from files that are restored, also when packages are
/// removed.
bool is_linker_cache(const Thing& thing) {
  return thing.first == "file" && thing.second == "/etc/ld.so.cache";
}

std::unexpected<base::Error> blocked_by_cluster(const std::string& state) {
  if (state == "unfinished")
    return base::fail(Fault::blocked,
                      "kubeadm did not finish: the runs of that cluster can only be undone together",
                      "gpuadm undo, without --run");
  return base::fail(Fault::blocked, "a kubeadm cluster is running on this host: undo does not remove it",
                    "back up what you need, then: gpuadm reset");
}

/// Replays the journal of a host backward, with the state of each object.
class Backwards {
 public:
  Backwards(const Journal& journal, const Undo& undo) : journal_(journal), undo_(undo), state_(journal.now) {}

  Result<UndoPlan> go() {
    TRY(choose());
    for (auto line = journal_.lines.rbegin(); line != journal_.lines.rend(); ++line)
      if (is_chosen(line->run)) TRY(undo_one(*line));
    for (const auto& [thing, why] : kept_) way_.kept.push_back({thing, why});
    way_.upgraded.assign(upgraded_.begin(), upgraded_.end());
    way_.unreadable = journal_.unreadable;
    arrange();
    return std::move(way_);
  }

 private:
  [[nodiscard]] bool is_chosen(const std::string& run) const {
    return std::ranges::find(way_.runs, run) != way_.runs.end();
  }

  /// Runs, the newest first.
  [[nodiscard]] std::vector<std::string> runs() const {
    std::vector<std::string> all;
    for (auto line = journal_.lines.rbegin(); line != journal_.lines.rend(); ++line)
      if (std::ranges::find(all, line->run) == all.end()) all.push_back(line->run);
    return all;
  }

  /// Whether any object that a run changed differs from its original.
  [[nodiscard]] bool left_something(const std::string& run) const {
    return std::ranges::any_of(journal_.lines, [&](const Line& line) {
      const auto now = journal_.now.find(line.thing);
      return line.run == run && now != journal_.now.end() &&
             essence(line.thing, now->second) != essence(line.thing, line.was);
    });
  }

  Result<> choose() {
    const auto all = runs();
    if (undo_.all || all.empty()) {
      way_.runs = all;
    } else if (undo_.run.empty()) {
      // A run without effect is undone with the one before it; so is one that continued an unfinished
      // cluster.
      const auto first = std::ranges::find_if(journal_.lines,
                                              [](const Line& line) { return line.thing.first == "cluster"; });
      for (const std::string& run : all) {
        way_.runs.push_back(run);
        const bool cluster = undo_.after_reset && first != journal_.lines.end();
        if (cluster ? run == first->run : left_something(run)) break;
      }
    } else if (std::ranges::find(all, undo_.run) != all.end()) {
      way_.runs = {undo_.run};
    } else {
      return base::fail(Fault::usage, fmt::format("unknown run: {}", base::printable(undo_.run, 100)),
                        "known: " + base::join(all, ", "));
    }
    if (!journal_.unreadable.empty() && !way_.runs.empty() && has_cluster(journal_) && !undo_.after_reset &&
        !undo_.force)
      return base::fail(
          Fault::blocked,
          "a cluster is running on this host, and a truncated or damaged line of the journal may "
          "belong to it",
          "to remove the cluster: gpuadm reset; to undo the runs anyway: --force");
    return require_no_later_change(all);
  }

  /// Newer runs that are kept must not depend on undone ones.
  Result<> require_no_later_change(const std::vector<std::string>& all) const {
    std::set<std::string> newer;
    for (const std::string& run : all)
      if (is_chosen(run))
        break;
      else
        newer.insert(run);
    std::set<Thing> chosen;
    for (const Line& line : journal_.lines)
      if (is_chosen(line.run)) chosen.insert(line.thing);
    for (const Line& line : journal_.lines) {
      const bool is_newer = newer.contains(line.run);
      if (line.thing.first == "cluster" && (is_newer || is_chosen(line.run)) &&
          state_of(line.thing) != "absent" && !way_.runs.empty() && !undo_.after_reset)
        return blocked_by_cluster(state_of(line.thing));
      if (is_newer && chosen.contains(line.thing))
        return base::fail(Fault::blocked,
                          fmt::format("the later run {} changed {}", line.run, shown(line.thing)),
                          fmt::format("undo that one first: --run {}; or --all", line.run));
    }
    return {};
  }

  [[nodiscard]] bool is_to_stay(const Line& line) const {
    return std::ranges::any_of(undo_.keep, [&](const std::string& what) {
      return line.thing.first == what || line.step == what || line.step.starts_with(what + ".");
    });
  }

  /// Whether the journal has lines of these runs that need not be kept.
  [[nodiscard]] bool can_forget() const {
    return std::ranges::any_of(journal_.lines, [&](const Line& line) {
      return is_chosen(line.run) && !kept_.contains(line.thing) && !staying_.contains(line.thing);
    });
  }

  [[nodiscard]] std::string state_of(const Thing& thing) const {
    const auto place = state_.find(thing);
    return place == state_.end() ? "unknown" : place->second;
  }

  /// The line with the state that it will have when all selected runs are undone.
  [[nodiscard]] const Line& first_of(const Thing& thing) const {
    return *std::ranges::find_if(
        journal_.lines, [&](const Line& line) { return line.thing == thing && is_chosen(line.run); });
  }

  Result<> undo_one(const Line& line) {
    const Thing& thing = line.thing;
    if (thing.first == "cluster" || kept_.contains(thing) || is_linker_cache(thing)) return {};
    if (is_to_stay(line)) {
      staying_.insert(thing);
      return {};
    }
    if (std::ranges::find(kinds, thing.first) == std::end(kinds))
      return base::fail(Fault::blocked, fmt::format("unknown kind of entry in the journal: {}", shown(thing)),
                        "use the version of gpuadm that wrote it, or a newer one");
    const std::string now = state_of(thing);
    if (now == line.was) return {};
    const auto made = journal_.made.find({line.run, thing});
    if (essence(thing, now) == essence(thing, line.was)) {
      // Rewritten with the original contents: the time is restored unless others have changed the file since.
      if (made == journal_.made.end() || made->second != now) return {};
    } else if (is_watched(thing) && !undo_.force && !is_for_others(line)) {
      if (made == journal_.made.end()) {
        kept_[thing] = "the journal does not record what gpuadm changed (--force restores it)";
        return {};
      }
      if (essence(thing, made->second) != essence(thing, now)) {
        kept_[thing] = changed_since;
        return {};
      }
    } else if (thing.first == "package" && !was_not_installed(first_of(thing))) {
      if (is_for_others(line)) upgraded_.insert(thing.second);
      if (upgraded_.contains(thing.second)) return {};
      if (!undo_.force && made != journal_.made.end() && version_of(made->second) != version_of(now)) {
        kept_[thing] = changed_since;
        return {};
      }
      if (const auto lost = journal_.lost.find({thing, line.was});
          lost != journal_.lost.end() && &line == &first_of(thing)) {
        const std::string why =
            fmt::format("{} cannot be installed again: {}", base::printable(line.was, 100),
                        base::printable(lost->second, 200));
        // There is nothing to wait for if it is to be forgotten.
        if (undo_.force)
          way_.kept.push_back({thing, why});
        else
          kept_[thing] = why + " (--force forgets its previous version)";
        return {};
      }
    }
    if (line.was.starts_with("was "))
      if (const std::string blob = line.was.substr(line.was.rfind(' ') + 1); !journal_.blobs.contains(blob))
        return base::fail(Fault::blocked,
                          fmt::format("the original of {} is lost: journal/blobs/{} is missing or damaged",
                                      shown(thing), base::printable(blob, 64)),
                          "restore it from a backup, then run undo again");
    std::erase_if(todo_, [&](const Line& other) { return other.thing == thing; });
    todo_.push_back(line);
    state_[thing] = line.was;
    return {};
  }

  /// Services are stopped first and started last; directories are removed when they are empty.
  void arrange() {
    std::map<std::string, std::vector<Action>> stages;
    // By step, the newest first, because what it installed may depend on what earlier ones installed.
    std::vector<std::pair<std::string, std::vector<std::string>>> packages;
    std::set<std::string> restarts;
    for (const Line& line : todo_) {
      const auto& [kind, name] = line.thing;
      const bool runs = line.was.ends_with(" active");
      if (was_not_installed(line)) {
        const std::string step = line.run + " " + line.step;
        if (packages.empty() || packages.back().first != step) packages.push_back({step, {}});
        packages.back().second.push_back(name);
        continue;
      }
      if (const auto reader = journal_.readers.find(name); kind == "file" && reader != journal_.readers.end())
        restarts.insert(reader->second);
      const char* stage = kind == "image" || kind == "docker-image" ? "undo/images"
                          : kind == "swap"                          ? "undo/start"
                          : kind == "unit"                          ? (runs ? "undo/start" : "undo/stop")
                          : kind == "directory"                     ? "undo/directories"
                                                                    : "undo/things";
      stages[stage].push_back(action(line));
    }
    for (const auto& [step, names] : packages)
      stages["undo/packages"].push_back(action({{"packages", base::join(names, " ")}, "absent", step, {}}));
    for (const std::string& unit : restarts) stages["undo/restart"].push_back(restart(unit));
    std::ranges::stable_sort(stages["undo/directories"], std::greater(),
                             [](const Action& action) { return action.id.size(); });
    const bool forgets_unreadable = undo_.force && !journal_.unreadable.empty();
    if (((!todo_.empty() || kept_.empty()) && can_forget()) || forgets_unreadable)
      stages["undo/journal"].push_back(forget());
    for (const auto& [phase, title] : undo_phases())
      if (!stages[phase].empty()) way_.stages.emplace_back(phase, std::move(stages[phase]));
  }

  [[nodiscard]] std::string title(const Line& line) const {
    const auto& [kind, name] = line.thing;
    if (line.was == "absent") return "Remove " + shown(line.thing);
    if (kind == "file") return "Restore " + shown(line.thing);
    if (kind == "sysctl")
      return fmt::format("Set {} to {}", base::printable(name), base::printable(line.was, 100));
    if (kind != "unit")
      return fmt::format("Restore {}: {}", shown(line.thing), base::printable(line.was, 100));
    if (line.was.size() < 2 || line.was.starts_with(' ') || line.was.starts_with("not-found"))
      return "Stop " + base::printable(name);
    return fmt::format("Restore {}: {}", base::printable(name),
                       base::printable(base::replace_all(line.was, " ", ", "), 60));
  }

  [[nodiscard]] Action action(const Line& line) const {
    const auto& [kind, name] = line.thing;
    const auto now = journal_.now.find(line.thing);
    const auto reader = journal_.readers.find(name);
    Action action;
    action.id = fmt::format("undo.{}:{}", kind, base::printable(name));
    action.title = title(line);
    action.timeout = std::chrono::seconds(kind == "package" || kind == "packages" ? 600 : 90);
    action.variables = {
        {"kind", kind},
        {"name", name},
        {"was", line.was},
        {"now",
         is_watched(line.thing) && !is_for_others(line) && now != journal_.now.end() ? now->second : ""},
        {"reader", kind == "file" && reader != journal_.readers.end() ? reader->second : ""}};
    action.drifts = drifts(line);
    action.check = "undo_check\n";
    action.apply = "undo_apply\n";
    return action;
  }

  /// Recorded with `journal_for_others`: another program may change it at any time, also between the plan and
  /// the step.
  [[nodiscard]] bool is_for_others(const Line& line) const {
    const auto made = journal_.made.find({line.run, line.thing});
    return made != journal_.made.end() && made->second == "any";
  }

  /// Objects that the cluster's components change while running: those for others, and the state of units,
  /// modules, images and directories.
  [[nodiscard]] bool drifts(const Line& line) const {
    if (is_for_others(line)) return true;
    return line.thing.first != "file" && line.thing.first != "sysctl" && line.thing.first != "package";
  }

  static Action restart(const std::string& unit) {
    Action action;
    action.id = "undo.restart:" + base::printable(unit);
    action.title = base::printable(unit) + " uses its previous configuration";
    action.drifts = true;  // it depends on files, which have their own steps
    action.timeout = std::chrono::seconds(120);
    action.effects.restarts = {unit};
    action.variables = {{"name", unit}};
    action.check = "undo_restart_check\n";
    action.apply = "undo_restart\n";
    return action;
  }

  [[nodiscard]] Action forget() const {
    std::string kept;
    const auto keep = [&](const Thing& thing) { kept += thing.first + "\t" + thing.second + "\n"; };
    for (const auto& [thing, why] : kept_) keep(thing);
    for (const Thing& thing : staying_) keep(thing);
    Action action;
    action.id = "undo.journal";
    action.title = "Delete from the journal: " +
                   (way_.runs.empty() ? std::string("unreadable lines") : base::join(way_.runs, ", "));
    action.variables = {
        {"runs", base::join(way_.runs, " ")}, {"kept", kept}, {"unreadable", undo_.force ? "forgotten" : ""}};
    action.check = "undo_forget_check\n";
    action.apply = "undo_forget\n";
    return action;
  }

  const Journal& journal_;
  const Undo& undo_;
  std::map<Thing, std::string> state_;
  std::map<Thing, std::string> kept_;
  std::set<Thing> staying_;
  std::set<std::string> upgraded_;  ///< packages
  std::vector<Line> todo_;          ///< one per object: its final state
  UndoPlan way_;
};

}  // namespace

Result<UndoPlan> undo_plan(const Journal& journal, const Undo& undo) {
  return Backwards(journal, undo).go();
}

}  // namespace plan
