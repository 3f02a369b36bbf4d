#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

/// The command line as a value: the source of help, man pages, reference and completions, so that they match
/// the parser.
namespace commands {

/// The kind of a value, for completion. Checks are those of `gpuadm doctor`, of training jobs, or all.
enum class Kind { flag, word, choice, file, folder, checks, train_checks, all_checks, keys };

struct Argument {
  std::vector<std::string> names;  ///< "-f", "--file"; empty: positional
  std::string value;               ///< its name in help: "FILE"; empty for a flag
  std::string says;
  std::string heading;  ///< "Options", "Connection"
  Kind kind = Kind::flag;
  std::vector<std::string> choices;
  bool placed = false;    ///< can be given by position
  bool required = false;  ///< must be given
  bool repeats = false;   ///< of a positional one: any number
  bool attached = false;  ///< its optional value is only accepted as --name=VALUE
};

struct Example {
  std::string command, says;
};

struct Command {
  std::vector<std::string> path;  ///< "gpuadm", "config", "lint"
  std::string says;
  std::vector<Argument> arguments;
  std::vector<Example> examples;
  std::vector<Command> verbs;
};

/// A command and all its subcommands. Commands and options of the group "" are hidden.
[[nodiscard]] Command model_of(const CLI::App& app);
/// "gpuadm config lint"
[[nodiscard]] std::string name_of(const Command& command);
/// "gpuadm config lint [OPTIONS] FILE"
[[nodiscard]] std::string usage_of(const Command& command);
/// "-f, --file FILE"
[[nodiscard]] std::string spelled(const Argument& argument);
/// Calls with the command and all its subcommands, each before its own subcommands.
void each(const Command& command, const std::function<void(const Command&)>& call);

/// Examples for a command, the most common first; empty: none.
[[nodiscard]] std::vector<Example> examples_of(const std::string& name);

}  // namespace commands
