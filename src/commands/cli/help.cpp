#include "commands/cli/help.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/report/wrap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace commands {
namespace {

constexpr std::pair<Group, const char*> headings[] = {
    {Group::inspect, "Inspect"},     {Group::install, "Build"}, {Group::operate, "Operate"},
    {Group::workloads, "Workloads"}, {Group::undo, "Undo"},     {Group::bundles, "Bundles and assets"},
    {Group::other, "Other"}};

using report::wrapped;

/// A command that installs and has more options than this shows the common ones, and the others with
/// `--help all`.
constexpr std::size_t most_options = 20;
constexpr std::array common_options = std::to_array<std::string_view>(
    {"--file", "--notebook", "--gpus", "--to", "--dry-run", "--yes", "--diff", "--bundle",
     "--kubernetes-version", "--driver", "--region", "--output", "--user"});

bool is_common(const Argument& argument) {
  return argument.placed || std::ranges::any_of(argument.names, [](const std::string& name) {
           return std::ranges::find(common_options, std::string_view(name)) != common_options.end();
         });
}

class Help {
 public:
  Help(std::size_t width, HelpExtent extent) : width_(width), extent_(extent) {}

  std::string of(const CommandHelp& command) {
    text_ = wrapped(command.summary, 0, width_) + "\n\n";
    text_ += "Usage: " + wrapped(usage_of(command), 7, width_) + "\n";
    const std::size_t hidden = add_arguments(command);
    add_commands(command);
    add_examples(command);
    if (command.path.size() == 1)
      text_ += "\nExit codes: " + wrapped(exit_codes, 12, width_) + "\n";
    else if (!command.subcommands.empty())
      text_ += fmt::format("\nRun {} COMMAND --help for more.\n", name_of(command));
    else
      text_ += "\n-v, -q, --plain, --log-format, --no-color, --assets: see gpuadm --help.\n";
    if (hidden > 0) text_ += fmt::format("{} more options: {} --help all\n", hidden, name_of(command));
    return text_;
  }

 private:
  void row(const std::string& left, std::string_view summary) {
    constexpr std::size_t margin = 30;
    text_ += "  " + left;
    if (left.size() + 4 > margin && !summary.empty())
      text_ += "\n" + std::string(margin, ' ');
    else
      text_ += std::string(margin - std::min(margin, left.size() + 2), ' ');
    text_ += wrapped(summary, margin, width_) + "\n";
  }

  /// Returns how many options are not shown.
  std::size_t add_arguments(const CommandHelp& command) {
    const auto options = static_cast<std::size_t>(
        std::ranges::count_if(command.arguments, [](const Argument& one) { return !one.placed; }));
    const bool all = extent_ == HelpExtent::all || options <= most_options ||
                     command.group != Group::install || command.path.size() == 1;
    const auto is_shown = [&](const Argument& argument) { return all || is_common(argument); };
    std::vector<std::string> headings;
    const auto heading_of = [](const Argument& argument) {
      return argument.names.empty() ? std::string("Arguments") : argument.heading;
    };
    for (const Argument& argument : command.arguments)
      if (is_shown(argument) && std::ranges::find(headings, heading_of(argument)) == headings.end())
        headings.push_back(heading_of(argument));
    // Positional arguments first, connection options last.
    std::ranges::stable_sort(headings, {}, [](const std::string& heading) {
      return heading == "Arguments" ? 0 : heading == "Options" ? 1 : 2;
    });
    for (const std::string& heading : headings) {
      text_ += "\n" + heading + ":\n";
      for (const Argument& argument : command.arguments)
        if (is_shown(argument) && heading_of(argument) == heading) row(spelled(argument), argument.summary);
    }
    return static_cast<std::size_t>(
        std::ranges::count_if(command.arguments, [&](const Argument& one) { return !is_shown(one); }));
  }

  void add_commands(const CommandHelp& command) {
    if (command.path.size() == 1) {
      for (const auto& [group, heading] : headings) {
        text_ += fmt::format("\n{}:\n", heading);
        for (const CommandHelp& one : command.subcommands)
          if (one.group == group) row(one.path.back(), one.summary);
      }
    } else if (!command.subcommands.empty()) {
      text_ += "\nCommands:\n";
      for (const CommandHelp& one : command.subcommands) row(one.path.back(), one.summary);
    }
  }

  void add_examples(const CommandHelp& command) {
    if (command.examples.empty()) return;
    text_ += "\nExamples:\n";
    for (const Example& example : command.examples) {
      if (!example.summary.empty()) text_ += fmt::format("  # {}\n", example.summary);
      text_ += fmt::format("  {}\n", example.command);
    }
  }

  std::size_t width_;
  HelpExtent extent_;
  std::string text_;
};

std::string cell(std::string_view text) {
  return base::replace_all(std::string(text), "|", "\\|");
}

}  // namespace

std::string help_of(const CommandHelp& command, std::size_t width, HelpExtent extent) {
  return Help(width, extent).of(command);
}

std::string reference_of(const CommandHelp& root) {
  std::string text = "# Command line\n\nGenerated by `docs/make` from `gpuadm COMMAND --help`.\n";
  each(root, [&](const CommandHelp& command) {
    text += fmt::format("\n## {}\n\n{}\n\n    {}\n", name_of(command), command.summary, usage_of(command));
    if (!command.examples.empty()) text += "\n```sh\n";
    for (const Example& example : command.examples)
      text += example.command + (example.summary.empty() ? "" : "  # " + example.summary) + "\n";
    if (!command.examples.empty()) text += "```\n";
    // Connection options are listed once if they are the same for all commands.
    const bool connects = std::ranges::any_of(
        command.arguments, [](const Argument& argument) { return argument.heading == "Connection"; });
    const bool here = name_of(command) == "gpuadm init";
    text += "\n| Argument | Meaning |\n|---|---|\n";
    for (const Argument& argument : command.arguments)
      if (argument.heading != "Connection" || here)
        text += fmt::format("| `{}` | {} |\n", cell(spelled(argument)), cell(argument.summary));
    if (connects && !here)
      text += "| `--user`, `--port`, ... | How to connect, as for [gpuadm init](#gpuadm-init) |\n";
  });
  return text + fmt::format("\n## Exit codes\n\n{}\n", exit_codes);
}

}  // namespace commands
