#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/facts/families.hpp"
#include "gpuadm/playbook/playbook.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace playbook {

namespace {

using base::Fault;
using base::Tree;

std::unexpected<base::Error> refuse(const Tree& at, std::string_view source, const std::string& what) {
  return base::fail(Fault::spec, fmt::format("{}:{}:{}: {}", source, at.mark.line, at.mark.column, what));
}

/// Rejects keys of a map that are not in the list.
Result<> known(const Tree& map, std::string_view source, const std::vector<std::string>& keys) {
  if (!map.is_map()) return refuse(map, source, "expected a map");
  for (const auto& [key, value] : map.entries()) {
    if (std::ranges::find(keys, key) != keys.end()) continue;
    const auto near = base::nearest(key, keys);
    Tree key_place;
    key_place.mark = value.key_mark;
    return refuse(
        key_place, source,
        fmt::format("unknown key '{}'{}", key, near ? fmt::format(" (did you mean '{}'?)", *near) : ""));
  }
  return {};
}

Result<std::string> word(const Tree& map, std::string_view source, std::string_view key,
                         bool required = false) {
  const Tree* value = map.find(key);
  if (!value) {
    if (required) return refuse(map, source, fmt::format("'{}' is missing", key));
    return std::string();
  }
  if (!value->is_scalar()) return refuse(*value, source, fmt::format("'{}' must be a string", key));
  return value->text();
}

Result<std::vector<std::string>> list(const Tree& map, std::string_view source, std::string_view key) {
  std::vector<std::string> items;
  if (const Tree* value = map.find(key)) {
    if (value->is_string()) return std::vector{value->text()};
    if (!value->is_list()) return refuse(*value, source, fmt::format("'{}' must be a list", key));
    for (const Tree& item : value->items()) items.push_back(item.text());
  }
  return items;
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const facts::FamilyRow& row : facts::families) names.emplace_back(row.name);
  return names;
}

Result<Script> script(const Tree& map, std::string_view source, std::string_view key) {
  Script result;
  const Tree* value = map.find(key);
  if (!value) return result;
  if (const std::string* text = value->as_string()) {
    result.by_family[""] = *text;
    return result;
  }
  TRY(known(*value, source, family_names()));
  for (const auto& [family, text] : value->entries()) result.by_family[family] = text.text();
  return result;
}

Result<Script> needed_script(const Tree& map, std::string_view source, std::string_view key) {
  Script result = TRY(script(map, source, key));
  if (result.empty()) return refuse(map, source, fmt::format("'{}' is missing", key));
  return result;
}

using Does = std::variant<Shell, File, Wait, Upload>;

Result<Does> does_of(const Tree& step, std::string_view source) {
  if (const Tree* shell = step.find("shell")) {
    TRY(known(*shell, source, {"check", "apply", "needs_reboot"}));
    Shell result;
    result.check = TRY(needed_script(*shell, source, "check"));
    result.apply = TRY(script(*shell, source, "apply"));
    result.needs_reboot = TRY(script(*shell, source, "needs_reboot"));
    return result;
  }
  if (const Tree* file = step.find("file")) {
    TRY(known(*file, source, {"path", "mode", "template", "compose", "content", "restarts", "validate"}));
    File result;
    result.path = TRY(word(*file, source, "path", true));
    if (const std::string mode = TRY(word(*file, source, "mode")); !mode.empty()) result.mode = mode;
    result.content_from = TRY(word(*file, source, "template"));
    if (const std::string name = TRY(word(*file, source, "compose")); !name.empty()) {
      if (const auto all = composers(); std::ranges::find(all, name) == all.end())
        return refuse(*file, source, fmt::format("unknown composer: '{}'", name));
      result.content_from = "compose:" + name;
    }
    result.content = TRY(word(*file, source, "content"));
    result.restarts = TRY(word(*file, source, "restarts"));
    result.validate = TRY(word(*file, source, "validate"));
    if (result.content_from.empty() == !file->find("content"))
      return refuse(*file, source, "one of 'template', 'compose' and 'content' is required");
    return result;
  }
  if (const Tree* wait = step.find("wait")) {
    TRY(known(*wait, source, {"check", "message"}));
    Wait result;
    result.check = TRY(needed_script(*wait, source, "check"));
    result.message = TRY(word(*wait, source, "message", true));
    return result;
  }
  if (const Tree* upload = step.find("upload")) {
    TRY(known(*upload, source, {"kind", "check", "apply", "carried", "together"}));
    const std::string kind = TRY(word(*upload, source, "kind", true));
    const std::map<std::string, bundle::BundleKind> kinds = {
        {"binary", bundle::BundleKind::binary},         {"runtime", bundle::BundleKind::runtime},
        {"image", bundle::BundleKind::image},           {"package", bundle::BundleKind::package},
        {"repository", bundle::BundleKind::repository}, {"file", bundle::BundleKind::file}};
    if (!kinds.contains(kind))
      return refuse(*upload, source, fmt::format("unknown kind of bundle file: '{}'", kind));
    const auto is_set = [&](const char* key) {
      const Tree* value = upload->find(key);
      return value && value->as_bool().value_or(false);
    };
    Upload result{.kind = kinds.at(kind),
                  .check = {},
                  .apply = {},
                  .carried = is_set("carried"),
                  .together = is_set("together")};
    result.check = TRY(needed_script(*upload, source, "check"));
    result.apply = TRY(needed_script(*upload, source, "apply"));
    return result;
  }
  return refuse(step, source, "a step requires one of 'shell', 'file', 'wait' and 'upload'");
}

/// A name, or `not: NAME`.
Result<Selector> selector_of(const Tree& tree, std::string_view source) {
  Selector selector;
  if (tree.is_map()) {
    TRY(known(tree, source, {"not"}));
    selector = {TRY(word(tree, source, "not", true)), false};
  } else {
    selector.name = tree.text();
  }
  const auto all = selectors();
  if (std::ranges::find(all, selector.name) != all.end()) return selector;
  const auto near = base::nearest(selector.name, all);
  return refuse(tree, source,
                fmt::format("unknown selector: '{}'{}", selector.name,
                            near ? fmt::format(" (did you mean '{}'?)", *near) : ""));
}

Result<std::vector<Selector>> selectors_of(const Tree& map, std::string_view source) {
  std::vector<Selector> all;
  const Tree* on = map.find("on");
  if (!on) return all;
  if (!on->is_list()) return std::vector{TRY(selector_of(*on, source))};
  for (const Tree& item : on->items()) all.push_back(TRY(selector_of(item, source)));
  return all;
}

Result<Step> step_of(const Tree& tree, std::string_view source) {
  TRY(known(tree, source,
            {"id", "title", "on", "reads", "fixes", "saves", "shares", "judge", "timeout", "effects", "shell",
             "file", "wait", "upload"}));
  Step step;
  step.id = TRY(word(tree, source, "id", true));
  step.title = TRY(word(tree, source, "title", true));
  step.on = TRY(selectors_of(tree, source));
  step.reads = TRY(list(tree, source, "reads"));
  step.fixes = TRY(list(tree, source, "fixes"));
  step.saves = TRY(word(tree, source, "saves"));
  step.shares = TRY(word(tree, source, "shares"));
  step.judge = TRY(word(tree, source, "judge"));
  if (const Tree* timeout = tree.find("timeout")) {
    const auto seconds = timeout->as_int();
    if (!seconds || *seconds < 1 || *seconds > 86400)
      return refuse(*timeout, source, "'timeout' must be 1 to 86400 (seconds)");
    step.timeout = std::chrono::seconds(*seconds);
  }
  if (const Tree* effects = tree.find("effects")) {
    TRY(known(*effects, source, {"packages", "restarts", "reboot", "network"}));
    step.effects.packages = TRY(list(*effects, source, "packages"));
    step.effects.restarts = TRY(list(*effects, source, "restarts"));
    if (const Tree* reboot = effects->find("reboot")) step.effects.reboot = reboot->as_bool().value_or(false);
    if (const Tree* network = effects->find("network"))
      step.effects.network = network->as_bool().value_or(false);
  }
  step.does = TRY(does_of(tree, source));
  if (const Shell* shell = std::get_if<Shell>(&step.does))
    step.effects.reboot = step.effects.reboot || !shell->needs_reboot.empty();
  return step;
}

void narrow(Phase& phase, const std::vector<Selector>& on) {
  for (Step& step : phase.steps) step.on.insert(step.on.end(), on.begin(), on.end());
}

/// The files of `from`. A name that ends with a slash is a folder: all of its files, in the order of their
/// names.
Result<std::vector<std::string>> step_files(const Tree& phase, std::string_view source,
                                            const assets::Store& store) {
  std::vector<std::string> paths;
  for (const std::string& name : TRY(list(phase, source, "from"))) {
    const std::string path = "playbooks/" + name;
    if (!name.ends_with('/')) {
      paths.push_back(path);
      continue;
    }
    const auto files = store.list(path);
    if (files.empty()) return refuse(phase, source, fmt::format("no files in {}", path));
    paths.insert(paths.end(), files.begin(), files.end());
  }
  return paths;
}

Result<Playbook> playbook_of(const Tree& tree, std::string_view source, const assets::Store& store);

/// The phases of another playbook: without some of them, and some of them on fewer hosts.
Result<Playbook> derived_of(const Tree& tree, std::string_view source, const assets::Store& store) {
  TRY(known(tree, source, {"id", "title", "extends", "without", "narrow"}));
  const std::string path = "playbooks/" + TRY(word(tree, source, "extends", true));
  const Tree base_tree = TRY(base::yaml::read(TRY(store.read(path)), path));
  if (base_tree.find("extends")) return refuse(tree, source, path + " also extends a playbook");
  Playbook playbook = TRY(playbook_of(base_tree, path, store));
  playbook.id = TRY(word(tree, source, "id", true));
  playbook.title = TRY(word(tree, source, "title", true));
  const auto named = [&](const std::string& name) -> Result<std::vector<Phase>::iterator> {
    const auto phase = std::ranges::find(playbook.phases, name, &Phase::name);
    if (phase == playbook.phases.end())
      return refuse(tree, source, fmt::format("{} has no phase '{}'", path, name));
    return phase;
  };
  for (const std::string& name : TRY(list(tree, source, "without"))) playbook.phases.erase(TRY(named(name)));
  const Tree* rules = tree.find("narrow");
  if (!rules) return playbook;
  if (!rules->is_list()) return refuse(*rules, source, "'narrow' must be a list");
  for (const Tree& rule : rules->items()) {
    TRY(known(rule, source, {"phases", "on"}));
    const auto on = TRY(selectors_of(rule, source));
    for (const std::string& name : TRY(list(rule, source, "phases"))) narrow(*TRY(named(name)), on);
  }
  return playbook;
}

Result<Playbook> playbook_of(const Tree& tree, std::string_view source, const assets::Store& store) {
  if (tree.find("extends")) return derived_of(tree, source, store);
  TRY(known(tree, source, {"id", "title", "functions", "independent", "phases"}));
  Playbook playbook;
  playbook.id = TRY(word(tree, source, "id", true));
  playbook.title = TRY(word(tree, source, "title", true));
  playbook.functions = TRY(list(tree, source, "functions"));
  if (const Tree* independent = tree.find("independent"))
    playbook.independent = independent->as_bool().value_or(false);
  std::map<std::string, std::string> seen;
  const Tree* phases = tree.find("phases");
  if (!phases || !phases->is_list()) return refuse(tree, source, "'phases' must be a list");
  for (const Tree& entry : phases->items()) {
    TRY(known(entry, source, {"phase", "title", "on", "at_once", "from", "steps", "refresh", "each"}));
    Phase phase;
    phase.name = TRY(word(entry, source, "phase", true));
    phase.title = TRY(word(entry, source, "title", true));
    phase.each = TRY(word(entry, source, "each"));
    if (const auto all = selectors();
        !phase.each.empty() && phase.each != "itself" && std::ranges::find(all, phase.each) == all.end())
      return refuse(*entry.find("each"), source, "'each' must be 'itself' or a selector");
    const auto on = TRY(selectors_of(entry, source));
    if (const Tree* at_once = entry.find("at_once")) {
      const auto hosts = at_once->as_int();
      if (!hosts || *hosts < 1 || *hosts > 1024)
        return refuse(*at_once, source, "'at_once' must be 1 to 1024");
      phase.at_once = static_cast<int>(*hosts);
    }
    if (const Tree* refresh = entry.find("refresh")) phase.refresh = refresh->as_bool().value_or(false);
    for (const std::string& path : TRY(step_files(entry, source, store))) {
      const Tree file = TRY(base::yaml::read(TRY(store.read(path)), path));
      if (!file.is_list()) return refuse(file, path, "a step file must be a list of steps");
      for (const Tree& step : file.items()) phase.steps.push_back(TRY(step_of(step, path)));
    }
    if (const Tree* steps = entry.find("steps"))
      for (const Tree& step : steps->items()) phase.steps.push_back(TRY(step_of(step, source)));
    narrow(phase, on);
    for (const Step& step : phase.steps)
      if (!seen.emplace(step.id, phase.name).second)
        return refuse(entry, source, fmt::format("duplicate step id '{}'", step.id));
    playbook.phases.push_back(std::move(phase));
  }
  return playbook;
}

/// Adds the scripts of an OS family, by step: playbooks/families/FAMILY.yaml.
/// Those in the steps themselves, such as an operator's, are kept.
Result<> add_family(Playbook& playbook, const std::string& path, const assets::Store& store) {
  const std::string family = std::filesystem::path(path).stem().string();
  const Tree file = TRY(base::yaml::read(TRY(store.read(path)), path));
  for (Phase& phase : playbook.phases)
    for (Step& step : phase.steps) {
      const Tree* scripts = file.find(step.id);
      if (!scripts) continue;
      TRY(known(*scripts, path, {"check", "apply"}));
      auto* shell = std::get_if<Shell>(&step.does);
      if (!shell) return refuse(*scripts, path, fmt::format("'{}' is not a shell step", step.id));
      for (const auto& [key, text] : scripts->entries())
        (key == "check" ? shell->check : shell->apply).by_family.emplace(family, text.text());
    }
  return {};
}

}  // namespace

const std::string* Script::find(facts::Family family) const {
  const auto own = by_family.find(std::string(facts::row_of(family).name));
  if (own != by_family.end()) return &own->second;
  const auto any = by_family.find("");
  return any != by_family.end() ? &any->second : nullptr;
}

std::optional<std::string> Catalog::find(const std::string& key, const base::Version& kubernetes) const {
  if (const auto replaced = overrides.find(key); replaced != overrides.end()) return replaced->second;
  const Tree* found = tree.at({"defaults", key});
  base::Version best{-1, -1, -1};
  if (const Tree* minors = tree.find("perKubernetes"))
    for (const auto& [minor, values] : minors->entries()) {
      const auto from = base::Version::parse(minor);
      const Tree* value = values.find(key);
      if (!from || !value || *from < best || base::Version{kubernetes.major, kubernetes.minor, -1} < *from)
        continue;
      best = *from;
      found = value;
    }
  if (!found) return std::nullopt;
  return found->text();
}

Result<Library> Library::of(const assets::Store& store, std::string_view text, const std::string& source) {
  Library library;
  library.store_ = &store;
  library.catalog_.tree =
      TRY(base::yaml::read(TRY(store.read("playbooks/catalog.yaml")), "playbooks/catalog.yaml"));
  library.playbook_ = TRY(playbook_of(TRY(base::yaml::read(text, source)), source, store));
  for (const std::string& path : store.list("playbooks/families/"))
    TRY(add_family(library.playbook_, path, store));
  library.prelude_ =
      TRY(store.read("playbooks/prelude.sh")) + TRY(store.read("playbooks/package-managers.sh"));
  library.depot_ = TRY(store.read("playbooks/depot.sh"));
  for (const std::string& file : library.playbook_.functions)
    library.prelude_ += TRY(store.read("playbooks/" + file));
  return library;
}

Result<Library> Library::load(const assets::Store& store, std::string_view name) {
  const std::string path = fmt::format("playbooks/{}.yaml", name);
  return of(store, TRY(store.read(path)), path);
}

Result<Library> Library::load_file(const assets::Store& store, const std::filesystem::path& file) {
  Library library = TRY(of(store, TRY(base::read_file(file)), file.string()));
  library.folder_ = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  return library;
}

Result<std::string> Library::text(const std::string& path) const {
  if (!folder_.empty() && !path.starts_with("templates/")) return base::read_file(folder_ / path);
  return store_->read(path);
}

}  // namespace playbook
