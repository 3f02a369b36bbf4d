#pragma once

#include "commands/app.hpp"

#include <CLI/CLI.hpp>

#include <functional>

namespace commands {

/// Options of all commands, before or after the command's name.
struct Global {
  std::filesystem::path assets;
  int verbose = 0;
  bool quiet = false, no_color = false, plain = false;
  bool diff = false;  ///< of commands that show a plan: the changes of files in full
  std::string log_format = "text";
  std::vector<std::string> command;  ///< of exec and train: the words after `--`
};

/// The selected command: called after parsing.
using Verb = std::function<base::Result<commands::Outcome>(commands::Io&)>;

/// Declares all commands with their options. Parsing sets `chosen`. Both must outlive `root`'s parsing.
void add_verbs(CLI::App& root, Global& global, Verb& chosen);

}  // namespace commands
