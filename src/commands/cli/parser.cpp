#include "commands/cli/parser.hpp"

#include "gpuadm/base/text.hpp"

#include "commands/line.hpp"

#include <algorithm>

namespace commands {

namespace {

const CLI::App* below(const CLI::App& command, std::string_view word) {
  const auto found =
      command.get_subcommands([&](const CLI::App* one) { return one->check_name(std::string(word)); });
  return found.empty() ? nullptr : found.front();
}

void declare_settings(CLI::App& root, Settings& settings) {
  root.set_help_flag("-h,--help", "Show this help");
  root.set_version_flag("--version", "gpuadm " GPUADM_VERSION, "Show the version of gpuadm");
  root.require_subcommand(0, 1);
  root.add_option("--assets", settings.assets,
                  "Directory with files that override built-in playbooks, templates and data")
      ->option_text("DIR");
  auto* verbose =
      root.add_flag("-v,--verbose", settings.verbose,
                    "Show more, including unchanged steps; -vv: also the shell code of steps and its output");
  root.add_flag("-q,--quiet", settings.quiet, "Show only errors")->excludes(verbose);
  root.add_flag("--no-color", settings.no_color, "Disable color, as does the variable NO_COLOR");
  root.add_flag("--plain", settings.plain,
                "Print plain lines without color or rewriting, for screen readers and logs");
  root.add_option("--log-format", settings.log_format,
                  "Progress format; json: one event per line on standard error")
      ->check(CLI::IsMember({"text", "json"}))
      ->option_text("text|json");
}

}  // namespace

void declare_commands(CLI::App& root, Settings& settings, Run& chosen) {
  declare_settings(root, settings);
  for (const Command& command : all_commands()) {
    const std::size_t blank = command.name.rfind(' ');
    const bool is_inner = blank != std::string::npos;
    CLI::App& parent = is_inner ? *root.get_subcommand(command.name.substr(0, blank)) : root;
    CLI::App* parser =
        parent.add_subcommand(is_inner ? command.name.substr(blank + 1) : command.name, command.summary)
            ->fallthrough();
    if (command.group == Group::hidden) parser->group("");
    if (!command.declare) {
      parser->require_subcommand(0, 1);
      continue;
    }
    Line line(*parser, settings);
    parser->final_callback([parser, &chosen, run = command.declare(line)] {
      if (parser->get_subcommands().empty()) chosen = run;
    });
  }
}

std::span<const char* const> split_command(std::span<const char* const> words, const CLI::App& root,
                                           Settings& settings) {
  const auto dashes = std::ranges::find(words, std::string_view("--"));
  // The command is the first word that is not an option of gpuadm itself; two of them have a value.
  const auto has_value = [](std::string_view word) { return word == "--assets" || word == "--log-format"; };
  auto verb = std::next(words.begin());
  while (verb < dashes && std::string_view(*verb).starts_with('-')) verb += has_value(*verb) ? 2 : 1;
  if (dashes == words.end() || verb >= dashes) return words;
  const CLI::App* command = below(root, *verb);
  for (auto word = std::next(verb); command != nullptr && word < dashes; word += has_value(*word) ? 2 : 1)
    if (const CLI::App* inner = below(*command, *word)) command = inner;
  if (!settings.takes_command.contains(command)) return words;
  settings.command.assign(std::next(dashes), words.end());
  return {words.begin(), dashes};
}

base::Result<> complete(const Settings& settings) {
  for (const auto& call : settings.completes) TRY(call());
  return {};
}

const CLI::App& recognized(const CLI::App& root) {
  const CLI::App* command = &root;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

}  // namespace commands
