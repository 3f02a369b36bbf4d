#include "gpuadm/base/text.hpp"

#include "commands/cli/completion.hpp"

#include <fmt/format.h>

namespace commands {
namespace {

/// One word of fish: only the quote and the backslash are special in single quotes.
std::string quoted(std::string text) {
  text = base::replace_all(std::move(text), "\\", "\\\\");
  return "'" + base::replace_all(std::move(text), "'", "\\'") + "'";
}

std::string fish_value(const Argument& argument, bool list) {
  switch (argument.kind) {
    case Kind::flag:
      return "";
    case Kind::choice:
      return "-x -a " + quoted(base::join(argument.choices, " "));
    case Kind::file:
      return "-r -F";
    case Kind::folder:
      return "-x -a '(__fish_complete_directories)'";
    case Kind::checks:
      return list ? "-x -a '(__fish_complete_list , __gpuadm_checks)'" : "-x -a '(__gpuadm_checks)'";
    case Kind::train_checks:
      return list ? "-x -a '(__fish_complete_list , __gpuadm_train_checks)'"
                  : "-x -a '(__gpuadm_train_checks)'";
    case Kind::all_checks:
      return "-x -a '(__gpuadm_checks; __gpuadm_train_checks)'";
    case Kind::keys:
      return "-x -a '(__gpuadm_keys)'";
    case Kind::word:
      break;
  }
  return argument.attached || argument.value.starts_with('[') ? "" : "-x";
}

constexpr const char* fish_script = R"(# fish completion of gpuadm
# To install it for yourself: gpuadm completion fish >~/.config/fish/completions/gpuadm.fish
function __gpuadm_checks
    printf '%s\n' @checks@
end
function __gpuadm_train_checks
    printf '%s\n' @train_checks@
end
function __gpuadm_keys
    printf '%s\n' @keys@
end
set -g __gpuadm_paths @paths@
# True if these are the commands on the line so far.
function __gpuadm_at
    set -l path gpuadm
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
        else if contains -- $word @valued@
            set skip 1
        else if contains -- "$path $word" $__gpuadm_paths
            set path "$path $word"
        else if test $word = --
            return 1
        end
    end
    test "$path" = "$argv"
end
complete -c gpuadm -f
)";

}  // namespace

std::string fish_completion(const CommandHelp& root, const Names& names) {
  std::vector<std::string> paths = paths_below(root);
  for (std::string& path : paths) path = quoted(path);
  std::string text = base::replace_all(fish_script, "@checks@", base::join(names.checks, " "));
  text = base::replace_all(text, "@train_checks@", base::join(names.train_checks, " "));
  std::vector<std::string> keys = names.keys;
  for (std::string& key : keys) key = quoted(key);
  text = base::replace_all(text, "@keys@", base::join(keys, " "));
  text = base::replace_all(text, "@paths@", base::join(paths, " "));
  text = base::replace_all(text, "@valued@", base::join(valued(root), " "));
  each(root, [&](const CommandHelp& command) {
    const bool top = command.path.size() == 1;
    const std::string at = fmt::format(" -n {}", quoted("__gpuadm_at " + name_of(command)));
    for (const CommandHelp& verb : command.subcommands)
      text += fmt::format("complete -c gpuadm{} -a {} -d {}\n", at, verb.path.back(), quoted(verb.summary));
    for (const Argument& argument : command.arguments) {
      if (!argument.names.empty()) {
        text += "complete -c gpuadm" + (top ? "" : at);
        for (const std::string& name : argument.names)
          text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        const std::string value = fish_value(argument, true);
        text += fmt::format("{}{} -d {}\n", value.empty() ? "" : " ", value, quoted(argument.summary));
      }
      if (!argument.placed || argument.kind == Kind::word) continue;
      text += fmt::format("complete -c gpuadm{} {}\n", at,
                          argument.kind == Kind::file ? "-F" : fish_value(argument, false));
    }
  });
  return text;
}

}  // namespace commands
