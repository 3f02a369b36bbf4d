#include "commands/cli/complain.hpp"

#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"

#include "commands/cli/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace commands {
namespace {

/// The recognized commands, outermost first.
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

/// Names in other tools.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> elsewhere = {{
    {"plan", "gpuadm init --dry-run shows the plan, gpuadm diff the differences from a cluster file"},
    {"diagnose", "gpuadm doctor"},
    {"check", "gpuadm doctor"},
    {"preflight", "gpuadm doctor"},
    {"install", "gpuadm init on one machine, gpuadm apply -f FILE on several"},
    {"create", "gpuadm init on one machine, gpuadm apply -f FILE on several"},
    {"deploy", "gpuadm init on one machine, gpuadm apply -f FILE on several"},
    {"up", "gpuadm init on one machine, gpuadm apply -f FILE on several"},
    {"add", "gpuadm join HOST"},
    {"delete", "gpuadm remove HOST removes one host, gpuadm reset the whole cluster"},
    {"uninstall", "gpuadm reset"},
    {"destroy", "gpuadm reset"},
    {"rollback", "gpuadm undo"},
    {"run", "gpuadm exec"},
}};

std::string hint(const std::string& word, const std::vector<std::string>& known, const std::string& help) {
  if (const auto there = std::ranges::find(elsewhere, word, [](const auto& pair) { return pair.first; });
      there != elsewhere.end() && std::ranges::find(known, "init") != known.end())
    return std::string(there->second);
  const auto near = base::nearest(word, known);
  return near ? fmt::format("did you mean {}?", *near) : help + " lists the options";
}

/// A word that is not in a closed list: "--stage: nod not in {preflight,node}".
struct WrongChoice {
  std::string option, word;
  std::vector<std::string> choices;
};
std::optional<WrongChoice> wrong_choice(const std::string& text) {
  constexpr std::string_view between = " not in {";
  const auto colon = text.find(": "), at = text.find(between);
  if (colon == std::string::npos || at == std::string::npos || colon + 2 > at || !text.ends_with('}'))
    return std::nullopt;
  // A positional argument has its name once more: "KIND: ntfs".
  WrongChoice wrong{text.substr(0, colon), text.substr(colon + 2, at - colon - 2), {}};
  const std::string_view list =
      std::string_view(text).substr(at + between.size(), text.size() - at - between.size() - 1);
  for (const std::string_view choice : base::split(list, ',')) wrong.choices.emplace_back(choice);
  return wrong;
}

/// The reason for the operator, in place of CLI11's: "--file: At Most 1 required but received 2", "--only: 1
/// required TEXT missing", "--window: Value abc not in range 1 to 100000", "--file is required".
std::string reason_of(const CLI::ParseError& error, const CLI::App& command) {
  const std::string text = base::printable(error.what(), 1000);
  const std::string_view option = std::string_view(text).substr(0, text.find(':'));
  const auto has = [&](std::string_view part) { return text.find(part) != std::string::npos; };
  if (has(": At Most 1 required")) return fmt::format("{} can be given only once", option);
  if (has(": 1 required ") && text.ends_with(" missing")) return fmt::format("{} needs a value", option);
  constexpr std::string_view begins = ": Value ", ends = " not in range ";
  if (const auto at = text.find(begins), to = text.rfind(ends);
      at != std::string::npos && to != std::string::npos && at < to)
    return fmt::format("{}: expected a number from {}, got '{}'", option, text.substr(to + ends.size()),
                       text.substr(at + begins.size(), to - at - begins.size()));
  if (const auto wrong = wrong_choice(text))
    return fmt::format("{}: expected {}, got '{}'", wrong->option, base::join(wrong->choices, " | "),
                       wrong->word);
  constexpr std::string_view required = " is required";
  if (text.ends_with(required)) {
    const std::string name = text.substr(0, text.size() - required.size());
    const CLI::Option* missing = command.get_option_no_throw(name);
    if (missing && !missing->get_snames().empty() && !missing->get_option_text().empty())
      return fmt::format("-{} {} is required", missing->get_snames().front(), missing->get_option_text());
  }
  return text;
}

}  // namespace

base::Error complain(const CLI::ParseError& error, const CLI::App& root) {
  const std::vector<const CLI::App*> chain = understood(root);
  std::string command, at;  // at: the command in the message, whose first word is gpuadm already
  for (const CLI::App* app : chain) command += (command.empty() ? "" : " ") + app->get_name();
  if (chain.size() > 1) at = command.substr(chain.front()->get_name().size() + 1) + ": ";
  const std::string help = command + " --help";
  const std::vector<std::string> rest = root.remaining(true);
  if (rest.empty()) {
    const auto wrong = wrong_choice(base::printable(error.what(), 1000));
    const auto near = wrong ? base::nearest(wrong->word, wrong->choices) : std::nullopt;
    return {base::Fault::usage, at + reason_of(error, *chain.back()),
            near ? fmt::format("did you mean {}?", *near) : help + " lists the options"};
  }

  const std::string word = rest.front().substr(0, rest.front().find('='));
  const std::string shown = base::printable(word, 200);
  if (word == "--kubeconfig")
    return {base::Fault::usage, at + "it needs the hosts of the cluster, which a kubeconfig does not reach",
            "an administrator can run it over SSH; with --kubeconfig: notebook, train, serve, storage claim, "
            "workload list, explain pod, gpu list, gpu top --idle"};
  if (word.starts_with('-'))
    return {base::Fault::usage, fmt::format("{}unknown option {}", at, shown),
            hint(word, options_of(chain), help)};
  const std::vector<std::string> verbs = verbs_of(*chain.back());
  if (!verbs.empty())
    return {base::Fault::usage, fmt::format("{}unknown command {}", at, shown), hint(word, verbs, help)};
  return {base::Fault::usage, fmt::format("{}unexpected argument {}", at, shown), help + " shows the usage"};
}

std::string detached_value(const base::Error& refused, const CLI::App& root,
                           std::span<const char* const> words) {
  const auto arguments = model_of(*understood(root).back()).arguments;
  std::string option;  // the last one without its optional value
  for (const std::string_view word : words) {
    const bool attached = std::ranges::any_of(arguments, [&](const Argument& argument) {
      return argument.attached && std::ranges::find(argument.names, word) != argument.names.end();
    });
    if (attached) option = word;
    if (!option.empty() && base::is_partial_ipv4(std::string(word)) && refused.what.contains(word))
      return fmt::format("did you mean {}={}?", option, word);
  }
  return {};
}

}  // namespace commands
