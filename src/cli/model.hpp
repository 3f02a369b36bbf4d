#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

/// The command line as a value: help, manual, reference and completions are made of it, so that they say what
/// the parser does.
namespace cli {

/// What a value is, for who completes it.
enum class Kind { flag, word, choice, file, folder, checks, keys };

struct Argument {
  std::vector<std::string> names;  ///< "-f", "--file"; empty: it has no name, only a place
  std::string value;               ///< what help calls it: "FILE"; empty of a flag
  std::string says;
  std::string heading;  ///< "Options", "Connection"
  Kind kind = Kind::flag;
  std::vector<std::string> choices;
  bool placed = false;    ///< can be given without a name
  bool required = false;  ///< must be given
  bool repeats = false;   ///< of one with a place: as often as wanted
  bool attached = false;  ///< its value, which can be left out, only as --name=VALUE
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

/// A command and all below it. Verbs and options of the group "" are left out: nobody is told of them.
[[nodiscard]] Command model_of(const CLI::App& app);
/// "gpuadm config lint"
[[nodiscard]] std::string name_of(const Command& command);
/// "gpuadm config lint [OPTIONS] FILE"
[[nodiscard]] std::string usage_of(const Command& command);
/// "-f, --file FILE"
[[nodiscard]] std::string spelled(const Argument& argument);
/// Calls with the command and all below it, each before its verbs.
void each(const Command& command, const std::function<void(const Command&)>& call);

/// What is typed for a verb, the commonest first; empty: there is none for it.
[[nodiscard]] std::vector<Example> examples_of(const std::string& name);

}  // namespace cli
