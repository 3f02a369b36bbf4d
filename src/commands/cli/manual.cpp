#include "commands/cli/manual.hpp"

#include "gpuadm/base/text.hpp"

#include "commands/cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace commands {
namespace {

/// Text for man(7): without requests or escapes, and with dashes that can be copied.
std::string roff(std::string_view text) {
  std::string all;
  for (const char c : text) {
    if (c == '\\')
      all += "\\e";
    else if (c == '-')
      all += "\\-";
    else
      all += c;
  }
  return all.starts_with('.') || all.starts_with('\'') ? "\\&" + all : all;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string heading_of(const Argument& argument) {
  if (argument.names.empty()) return "ARGUMENTS";
  return argument.heading == "Options" ? "OPTIONS" : "OPTIONS FOR CONNECTING";
}

std::string page_name(const CommandHelp& command) {
  return base::join(command.path, "-");
}

std::string arguments(const CommandHelp& command) {
  std::string text;
  for (const char* heading : {"ARGUMENTS", "OPTIONS", "OPTIONS FOR CONNECTING"}) {
    bool first = true;
    for (const Argument& argument : command.arguments) {
      if (heading_of(argument) != heading) continue;
      if (std::exchange(first, false)) text += fmt::format(".SH {}\n", heading);
      text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(spelled(argument)), roff(argument.summary));
    }
  }
  return text;
}

std::string others(const CommandHelp& root, const CommandHelp& command) {
  std::vector<std::string> names;
  each(root, [&](const CommandHelp& other) {
    const bool below = other.path.size() == command.path.size() + 1 &&
                       std::equal(command.path.begin(), command.path.end(), other.path.begin());
    const bool above = other.path.size() + 1 == command.path.size() &&
                       std::equal(other.path.begin(), other.path.end(), command.path.begin());
    if (below || above) names.push_back(page_name(other));
  });
  std::ranges::sort(names);
  std::string text;
  for (const std::string& name : names)
    text += fmt::format(".BR {} (1){}\n", roff(name), name == names.back() ? "" : " ,");
  return text;
}

std::string page(const CommandHelp& root, const CommandHelp& command, const std::string& version,
                 base::Time date) {
  const std::string name = page_name(command);
  std::string summary = command.summary;
  if (summary.ends_with('.')) summary.pop_back();
  std::string text = fmt::format(".TH {} 1 {} \"gpuadm {}\" \"gpuadm's manual\"\n", roff(upper(name)),
                                 base::iso8601(date).substr(0, 10), version);
  text += fmt::format(".SH NAME\n{} \\- {}\n", roff(name), roff(summary));
  text += fmt::format(".SH SYNOPSIS\n.nf\n{}\n.fi\n", roff(usage_of(command)));
  text += arguments(command);
  if (!command.subcommands.empty()) text += ".SH COMMANDS\n";
  for (const CommandHelp& verb : command.subcommands)
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(verb.path.back()), roff(verb.summary));
  if (!command.examples.empty()) text += ".SH EXAMPLES\n";
  for (const Example& example : command.examples)
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(example.command),
                        example.summary.empty() ? "\\&" : roff(example.summary));
  text += fmt::format(".SH EXIT STATUS\n{}\n", roff(exit_codes));
  if (const std::string also = others(root, command); !also.empty()) text += ".SH SEE ALSO\n" + also;
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> manual_of(const CommandHelp& root,
                                                           const std::string& version, base::Time date) {
  std::vector<std::pair<std::string, std::string>> pages;
  each(root, [&](const CommandHelp& command) {
    pages.emplace_back(page_name(command) + ".1", page(root, command, version, date));
  });
  return pages;
}

}  // namespace commands
