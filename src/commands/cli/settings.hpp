#pragma once

#include "gpuadm/base/error.hpp"

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace commands {

/// Options of all commands, before or after the command's name.
struct Settings {
  std::filesystem::path assets;
  int verbose = 0;
  bool quiet = false, no_color = false, plain = false;
  bool diff = false;  ///< of commands that show a plan: the changes of files in full
  std::string log_format = "text";

  std::vector<std::string> command;         ///< the words after `--`
  std::set<const CLI::App*> takes_command;  ///< the commands that have them
  /// Called after parsing, before the command, which does not run if one fails.
  std::vector<std::function<base::Result<>()>> completes;
};

}  // namespace commands
