#include "gpuadm/base/text.hpp"
#include "gpuadm/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace plan {

namespace {

using playbook::Context;
using playbook::Script;
using playbook::Step;

/// Adds the step and the host to an error.
std::unexpected<base::Error> about(const Step& step, const Context& context, base::Error error) {
  error.what = fmt::format("{}: step {}: {}", context.host.name, step.id, error.what);
  return std::unexpected(std::move(error));
}

struct Maker {
  const playbook::Library& library;
  const Context& context;
  const Step& step;
  const std::vector<std::string>& saved;  ///< names that earlier steps save
  const base::Variables& given;
  const bundle::Bundle* carried;

  Result<Action> base_action(Kind kind) const {
    Action action;
    action.id = step.id;
    action.title = step.title;
    action.kind = kind;
    action.timeout = step.timeout;
    action.effects = step.effects;
    action.saves = step.saves;
    action.shares = step.shares;
    action.judge = step.judge;
    for (const std::string& name : step.reads) {
      if (std::ranges::find(saved, name) != saved.end()) {
        action.later.push_back(name);
      } else if (const auto found = given.find(name); found != given.end()) {
        action.variables[name] = found->second;
      } else if (auto value = playbook::variable(name, context)) {
        action.variables[name] = *value;
      } else {
        return base::fail(base::Fault::spec, fmt::format("'{}' is not defined", name));
      }
    }
    return action;
  }

  Result<std::string> script(const Script& script) const {
    if (script.empty()) return std::string();
    const std::string* text = script.find(context.facts.os.family);
    if (!text)
      return base::fail(
          base::Fault::spec, fmt::format("no script for {}", context.facts.os.pretty),
          "skip the phase with --skip-phases and do it manually, or add the script with --assets");
    return *text;
  }

  Result<std::vector<Action>> operator()(const playbook::Shell& shell) const {
    Action action = TRY(base_action(Kind::shell));
    action.check = TRY(script(shell.check));
    action.apply = TRY(script(shell.apply));
    action.needs_reboot = TRY(script(shell.needs_reboot));
    return std::vector{std::move(action)};
  }

  Result<std::vector<Action>> operator()(const playbook::Wait& wait) const {
    Action action = TRY(base_action(Kind::wait));
    action.title = wait.message;
    action.check = TRY(script(wait.check));
    return std::vector{std::move(action)};
  }

  Result<std::vector<Action>> operator()(const playbook::File& file) const {
    const Action action = TRY(base_action(Kind::file));
    std::vector<playbook::Composed> contents;
    if (file.content_from.starts_with("compose:")) {
      contents = TRY(playbook::compose(file.content_from.substr(8), context));
    } else {
      const std::string text =
          file.content_from.empty() ? file.content : TRY(library.text(file.content_from));
      std::string filled = TRY(playbook::fill(text, action.variables, action.later,
                                              file.content_from.empty() ? step.id : file.content_from));
      contents = {{"", std::move(filled), std::nullopt}};
    }
    std::vector<Action> actions;
    for (playbook::Composed& composed : contents) actions.push_back(write(action, file, std::move(composed)));
    return actions;
  }

  /// One file of a step. A file derived from an existing one keeps its mode and owner.
  static Action write(Action action, const playbook::File& file, playbook::Composed composed) {
    if (!composed.path.empty() && composed.path != file.path) {
      action.id += ":" + composed.path;
      action.title += ": " + composed.path;
    }
    action.path = composed.path.empty() ? file.path : composed.path;
    action.check = "file_is \"$path\" \"$mode\"\n";
    if (!file.validate.empty()) action.apply = "file_validate() {\n" + file.validate + "\n}\n";
    action.apply += "file_put \"$path\" \"$mode\" \"$restarts\"\n";
    action.variables = {{"path", action.path},
                        {"mode", composed.base_sha256 ? "keep" : file.mode},
                        {"content", std::move(composed.content)},
                        {"restarts", file.restarts},
                        {"base_sha256", composed.base_sha256.value_or("")}};
    return action;
  }

  Result<std::vector<Action>> operator()(const playbook::Upload& upload) const {
    std::vector<Action> actions;
    const bundle::Bundle* bundle = upload.carried ? carried : context.bundle;
    if (!bundle) return actions;
    for (const bundle::BundleFile& file : bundle->files) {
      if (file.kind != upload.kind) continue;
      if (!playbook::is_for(file, context.facts.os)) continue;
      Action action = TRY(base_action(Kind::upload));
      const std::string name = file.name.empty() ? file.target.empty() ? file.path : file.target : file.name;
      action.id = step.id + ":" + name;
      action.title = step.title + ": " + name;
      action.check = TRY(script(upload.check));
      action.apply = TRY(script(upload.apply));
      action.input = bundle->directory / file.path;
      if (upload.together) action.together = step.id;
      action.variables.merge(base::Variables{{"bundle_name", file.name},
                                             {"bundle_target", file.target},
                                             {"bundle_mode", file.mode.empty() ? "0644" : file.mode},
                                             {"bundle_sha256", file.sha256}});
      actions.push_back(std::move(action));
    }
    return actions;
  }
};

/// Whether a step fixes a finding on the host, if only fixes are selected.
bool fixes(const Step& step, const std::string& host, const Choice& choice) {
  if (!choice.fixes) return true;
  const auto open = choice.fixes->find(host);
  return open != choice.fixes->end() &&
         std::ranges::any_of(step.fixes, [&](const std::string& id) { return open->second.contains(id); });
}

/// Renders phases, host by host.
class Stages {
 public:
  Stages(const spec::Cluster& cluster, const spec::Decisions& decisions, const facts::Census& census,
         const playbook::Library& library, const bundle::Bundle* bundle, const Choice& choice,
         const std::map<std::string, base::Version>& versions)
      : cluster_(cluster),
        decisions_(decisions),
        census_(census),
        library_(library),
        bundle_(bundle),
        choice_(choice),
        versions_(versions) {}

  Result<Stage> of(const playbook::Phase& phase) { return render(phase, nullptr, choice_.given); }

  /// The phase for one batch. Its hosts are listed in the stage, and in the steps of the acting hosts.
  Result<Stage> of(const playbook::Phase& phase, const Batch& batch) {
    base::Variables given = choice_.given;
    for (const auto& [name, value] : batch.given) given[name] = value;
    Stage stage = TRY(render(phase, &batch, given));
    stage.name += ":" + base::join(batch.hosts, ",");
    if (phase.each == "itself") return stage;
    for (Walk& walk : stage.walks)
      for (Action& action : walk.actions) {
        action.id += ":" + base::join(batch.hosts, ",");
        action.title += ": " + base::join(batch.hosts, ", ");
      }
    return stage;
  }

 private:
  [[nodiscard]] Context context(const spec::Host& host) const {
    return {cluster_,
            decisions_,
            host,
            *census_.at(host.name),
            library_.catalog(),
            bundle_,
            versions_.at(host.name),
            &census_};
  }

  [[nodiscard]] static bool walks(const playbook::Phase& phase, const Batch* batch, const Context& context) {
    if (!batch) return true;
    if (phase.each == "itself")
      return std::ranges::find(batch->hosts, context.host.name) != batch->hosts.end();
    Step who;
    who.on = {{phase.each}};
    return playbook::selected(who, context);
  }

  Result<Stage> render(const playbook::Phase& phase, const Batch* batch, const base::Variables& given) {
    Stage stage{phase.name, phase.title, phase.refresh, {}, phase.at_once};
    for (const spec::Host& host : cluster_.hosts) {
      if (!versions_.contains(host.name)) continue;
      const Context context = this->context(host);
      if (!walks(phase, batch, context)) continue;
      Walk walk{host.name, {}};
      for (const Step& step : phase.steps) {
        if (!fixes(step, host.name, choice_) || !playbook::selected(step, context)) continue;
        auto actions = std::visit(Maker{library_, context, step, saved_, given, choice_.carried}, step.does);
        if (!actions) return about(step, context, actions.error());
        std::ranges::move(*actions, std::back_inserter(walk.actions));
      }
      if (!walk.actions.empty()) stage.walks.push_back(std::move(walk));
    }
    for (const Step& step : phase.steps)
      for (const std::string& name : {step.saves, step.shares})
        if (!name.empty()) saved_.push_back(name);
    return stage;
  }

  const spec::Cluster& cluster_;
  const spec::Decisions& decisions_;
  const facts::Census& census_;
  const playbook::Library& library_;
  const bundle::Bundle* bundle_;
  const Choice& choice_;
  const std::map<std::string, base::Version>& versions_;
  std::vector<std::string> saved_;
};

std::vector<Batch> one_by_one(const spec::Cluster& cluster) {
  std::vector<Batch> batches;
  for (const spec::Host& host : cluster.hosts) batches.push_back({{host.name}, {}});
  return batches;
}

}  // namespace

bool is_chosen(const std::string& phase, const Choice& choice) {
  const auto named = [&](const std::vector<std::string>& names) {
    return std::ranges::any_of(
        names, [&](const std::string& name) { return name == phase || phase.starts_with(name + "/"); });
  };
  return (choice.phases.empty() || named(choice.phases)) && !named(choice.skip_phases);
}

Result<> known_phases(const playbook::Playbook& playbook, const Choice& choice) {
  std::vector<std::string> names;
  for (const playbook::Phase& phase : playbook.phases) {
    names.push_back(phase.name);
    const std::string group = phase.name.substr(0, phase.name.find('/'));
    if (std::ranges::find(names, group) == names.end()) names.push_back(group);
  }
  for (const auto* list : {&choice.phases, &choice.skip_phases})
    for (const std::string& name : *list) {
      if (std::ranges::find(names, name) != names.end()) continue;
      const auto near = base::nearest(name, names);
      return base::fail(
          base::Fault::usage,
          fmt::format("unknown phase: '{}'{}", name, near ? fmt::format(" (did you mean '{}'?)", *near) : ""),
          fmt::format("gpuadm {} --list-phases", playbook.id));
    }
  return {};
}

std::vector<std::string> hosts_that_read(const std::string& variable, const spec::Cluster& cluster,
                                         const spec::Decisions& decisions, const facts::Census& census,
                                         const playbook::Library& library, const bundle::Bundle* bundle,
                                         const Choice& choice) {
  std::vector<std::string> hosts;
  for (const spec::Host& host : cluster.hosts) {
    const auto facts = census.find(host.name);
    if (facts == census.end() || !facts->second) continue;
    const auto version =
        playbook::kubernetes_version(cluster, decisions, *facts->second, library.catalog(), bundle);
    const Context context{cluster,
                          decisions,
                          host,
                          *facts->second,
                          library.catalog(),
                          bundle,
                          version.value_or(base::Version{}),
                          &census};
    const auto reads = [&](const Step& step) {
      return std::ranges::count(step.reads, variable) > 0 && playbook::selected(step, context);
    };
    if (std::ranges::any_of(library.playbook().phases, [&](const playbook::Phase& phase) {
          return is_chosen(phase.name, choice) && std::ranges::any_of(phase.steps, reads);
        }))
      hosts.push_back(host.name);
  }
  return hosts;
}

Result<Plan> make(const spec::Cluster& cluster, const spec::Decisions& decisions, const facts::Census& census,
                  const playbook::Library& library, const bundle::Bundle* bundle, const Choice& choice) {
  TRY(known_phases(library.playbook(), choice));
  Plan plan{library.playbook().id, library.prelude(), {}, library.playbook().independent, {},
            library.depot()};
  for (const spec::Host& host : cluster.hosts)
    if (host.role == spec::Role::control_plane || !choice.batches.empty()) plan.vital.insert(host.name);
  std::map<std::string, base::Version> versions;
  for (const spec::Host& host : cluster.hosts) {
    const auto facts = census.find(host.name);
    if (facts == census.end() || !facts->second) continue;
    const auto version =
        playbook::kubernetes_version(cluster, decisions, *facts->second, library.catalog(), bundle);
    // Fixes do not depend on the version.
    if (!version && !choice.fixes) return std::unexpected(version.error());
    versions[host.name] = version.value_or(base::Version{});
  }
  Stages stages(cluster, decisions, census, library, bundle, choice, versions);
  const std::vector<Batch> batches = choice.batches.empty() ? one_by_one(cluster) : choice.batches;
  const auto& phases = library.playbook().phases;
  for (auto phase = phases.begin(); phase != phases.end();) {
    if (phase->each.empty()) {
      if (is_chosen(phase->name, choice)) plan.stages.push_back(TRY(stages.of(*phase)));
      ++phase;
      continue;
    }
    const auto end = std::find_if(phase, phases.end(), [](const auto& one) { return one.each.empty(); });
    for (const Batch& batch : batches)
      for (auto one = phase; one != end; ++one)
        if (is_chosen(one->name, choice)) plan.stages.push_back(TRY(stages.of(*one, batch)));
    phase = end;
  }
  return plan;
}

}  // namespace plan
