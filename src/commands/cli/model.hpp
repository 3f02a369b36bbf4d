#pragma once

#include "commands/command.hpp"

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
  std::string summary;
  std::string heading;  ///< "Options", "Connection"
  Kind kind = Kind::flag;
  std::vector<std::string> choices;
  bool placed = false;    ///< can be given by position
  bool required = false;  ///< must be given
  bool repeats = false;   ///< of a positional one: any number
  bool attached = false;  ///< its optional value is only accepted as --name=VALUE
};

/// A command as its documents show it.
struct CommandHelp {
  std::vector<std::string> path;  ///< "gpuadm", "config", "lint"
  std::string summary;
  Group group = Group::other;  ///< of a command without subcommands, and of a group
  std::vector<Argument> arguments;
  std::vector<Example> examples;
  std::vector<CommandHelp> subcommands;
};

inline constexpr const char* about =
    "gpuadm turns machines with NVIDIA GPUs into a Kubernetes cluster over SSH.";

/// A command and all its subcommands. Commands and options of the group "" are hidden.
[[nodiscard]] CommandHelp model_of(const CLI::App& app);
/// `gpuadm` with all its commands.
[[nodiscard]] CommandHelp whole_model();
/// "gpuadm config lint"
[[nodiscard]] std::string name_of(const CommandHelp& command);
/// "gpuadm config lint [OPTIONS] FILE"
[[nodiscard]] std::string usage_of(const CommandHelp& command);
/// "-f, --file FILE"
[[nodiscard]] std::string spelled(const Argument& argument);
/// Calls with the command and all its subcommands, each before its own subcommands.
void each(const CommandHelp& command, const std::function<void(const CommandHelp&)>& call);

}  // namespace commands
