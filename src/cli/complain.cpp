#include "cli/complain.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cli {
namespace {

/// The verbs that were understood, outermost first.
std::vector<const CLI::App*> understood(const CLI::App& root) {
  std::vector<const CLI::App*> chain{&root};
  while (!chain.back()->get_subcommands().empty()) chain.push_back(chain.back()->get_subcommands().front());
  return chain;
}

std::vector<std::string> options_of(const std::vector<const CLI::App*>& chain) {
  std::vector<std::string> names;
  for (const CLI::App* app : chain)
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
      for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    }
  return names;
}

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
}

std::string hint(const std::string& word, const std::vector<std::string>& known, const std::string& help) {
  const auto near = base::nearest(word, known);
  return near ? fmt::format("did you mean {}?", *near) : help + " shows what there is";
}

}  // namespace

base::Error complain(const CLI::ParseError& error, const CLI::App& root) {
  const std::vector<const CLI::App*> chain = understood(root);
  std::string command;
  for (const CLI::App* app : chain) command += (command.empty() ? "" : " ") + app->get_name();
  const std::string help = command + " --help";
  const std::vector<std::string> rest = root.remaining(true);
  if (rest.empty())
    return {base::Fault::usage, fmt::format("{}: {}", command, error.what()), help + " shows what there is"};

  const std::string word = rest.front().substr(0, rest.front().find('='));
  const std::string shown = base::printable(word, 200);
  if (word.starts_with('-'))
    return {base::Fault::usage, fmt::format("{} has no option {}", command, shown),
            hint(word, options_of(chain), help)};
  const std::vector<std::string> verbs = verbs_of(*chain.back());
  if (!verbs.empty())
    return {base::Fault::usage, fmt::format("{} has no verb {}", command, shown), hint(word, verbs, help)};
  return {base::Fault::usage, fmt::format("{} takes no further {}", command, shown),
          help + " shows what it takes"};
}

}  // namespace cli
