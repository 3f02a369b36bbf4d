#include "commands/cli/model.hpp"

#include "gpuadm/base/text.hpp"

#include "commands/cli/parser.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {
namespace {

/// The names in braces of an enumeration's "TEXT:{auto,libssh2}".
std::vector<std::string> members_of(const std::string& type) {
  const std::size_t open = type.find('{'), close = type.rfind('}');
  std::vector<std::string> names;
  if (open == std::string::npos || close == std::string::npos || close < open) return names;
  for (const std::string_view name :
       base::split(std::string_view(type).substr(open + 1, close - open - 1), ','))
    names.emplace_back(name);
  return names;
}

/// The words of "use|install[=BRANCH]"; those in capitals are placeholders.
std::vector<std::string> choices_of(const std::string& value) {
  std::vector<std::string> names;
  if (value.find('|') == std::string::npos) return names;
  for (const std::string_view name : base::split(std::string_view(value), '|'))
    if (const auto word = name.substr(0, name.find('[')); base::lower(word) == word) names.emplace_back(word);
  return names;
}

Kind kind_of(const std::string& value) {
  for (const char* file :
       {"FILE", "FILE,...", "DIR|FILE", "SNAPSHOT", "PLAYBOOK", "ARCHIVE", "BUNDLE", "OTHER"})
    if (value == file) return Kind::file;
  if (value == "DIR") return Kind::folder;
  if (value == "ID" || value == "ID,...") return Kind::checks;
  if (value == "KEY") return Kind::keys;
  return Kind::word;
}

Argument argument_of(const CLI::Option& option) {
  Argument argument;
  for (const std::string& name : option.get_snames()) argument.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) argument.names.push_back("--" + name);
  argument.placed = option.get_positional();
  argument.summary = option.get_description();
  argument.heading = option.get_group();
  argument.required = option.get_required();
  const std::string text(base::trim(option.get_option_text()));
  if (option.get_items_expected_max() == 0 && text.empty()) return argument;

  argument.attached = text.starts_with("[=");
  argument.repeats = argument.placed && option.get_expected_max() >= CLI::detail::expected_max_vector_size;
  const std::string place = option.get_name(true, false);
  argument.value = argument.placed ? place : text;
  argument.kind = kind_of(argument.placed && text != "FILE" ? place : text);
  argument.choices = choices_of(text);
  if (argument.choices.empty()) argument.choices = members_of(option.get_type_name());
  if (!argument.choices.empty()) argument.kind = Kind::choice;
  return argument;
}

/// Which checks a command knows.
Kind checks_of(const std::vector<std::string>& path) {
  const std::string verb = path.size() > 1 ? path[1] : "";
  return verb == "train" ? Kind::train_checks : verb == "explain" ? Kind::all_checks : Kind::checks;
}

/// The row of a command; nothing: `gpuadm` itself.
const Command* row_of(const std::vector<std::string>& path) {
  const std::string name = base::join({path.begin() + 1, path.end()}, " ");
  const auto row = std::ranges::find(all_commands(), name, &Command::name);
  return row == all_commands().end() ? nullptr : &*row;
}

std::vector<Example> first_examples() {
  return {{"gpuadm doctor ubuntu@192.0.2.10", "check the host"},
          {"gpuadm init ubuntu@192.0.2.10 --dry-run", "show what would change"},
          {"gpuadm init ubuntu@192.0.2.10", "create the cluster, after confirmation"}};
}

CommandHelp command_of(const CLI::App& app, std::vector<std::string> path) {
  const Command* row = row_of(path);
  CommandHelp command{.path = std::move(path),
                      .summary = app.get_description(),
                      .group = row ? row->group : Group::other,
                      .arguments = {},
                      .examples = row ? row->examples : first_examples(),
                      .subcommands = {}};
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty()) {
      command.arguments.push_back(argument_of(*option));
      Kind& kind = command.arguments.back().kind;
      if (kind == Kind::checks) kind = checks_of(command.path);
    }
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (verb->get_group().empty()) continue;
    std::vector<std::string> below = command.path;
    below.push_back(verb->get_name());
    command.subcommands.push_back(command_of(*verb, std::move(below)));
  }
  return command;
}

}  // namespace

CommandHelp whole_model() {
  Settings settings;
  Run chosen;
  CLI::App root{about, "gpuadm"};
  declare_commands(root, settings, chosen);
  return model_of(root);
}

CommandHelp model_of(const CLI::App& app) {
  std::vector<std::string> path;
  for (const CLI::App* at = &app; at; at = at->get_parent()) path.insert(path.begin(), at->get_name());
  return command_of(app, std::move(path));
}

std::string name_of(const CommandHelp& command) {
  return base::join(command.path, " ");
}

std::string usage_of(const CommandHelp& command) {
  std::string text = name_of(command);
  const bool has_arguments = std::ranges::any_of(command.arguments, &Argument::placed);
  if (!command.subcommands.empty()) text += has_arguments ? " [COMMAND]" : " COMMAND";
  if (!command.arguments.empty()) text += " [OPTIONS]";
  for (const Argument& argument : command.arguments) {
    if (!argument.placed) continue;
    const std::string name = argument.value + (argument.repeats ? "..." : "");
    text += argument.required ? " " + name : fmt::format(" [{}]", name);
  }
  return text;
}

std::string spelled(const Argument& argument) {
  if (argument.names.empty()) return argument.value + (argument.repeats ? "..." : "");
  const std::string names = base::join(argument.names, ", ");
  return argument.value.empty() ? names : names + (argument.attached ? "" : " ") + argument.value;
}

void each(const CommandHelp& command, const std::function<void(const CommandHelp&)>& call) {
  call(command);
  for (const CommandHelp& verb : command.subcommands) each(verb, call);
}

}  // namespace commands
