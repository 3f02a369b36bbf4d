#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"

#include "commands/cli/completion.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {
namespace {

/// A text in the brackets of a specification of _arguments.
std::string bracketed(const std::string& text) {
  std::string all;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == '\\' || c == ':') all += '\\';
    all += c;
  }
  return all;
}

std::string zsh_value(const Argument& argument, bool list) {
  std::string does = " ";
  if (argument.kind == Kind::choice) does = fmt::format("({})", base::join(argument.choices, " "));
  if (argument.kind == Kind::file) does = "_files";
  if (argument.kind == Kind::folder) does = "_files -/";
  if (argument.kind == Kind::checks)
    does = list ? "_values -s , check $_gpuadm_checks" : "compadd -a _gpuadm_checks";
  if (argument.kind == Kind::train_checks)
    does = list ? "_values -s , check $_gpuadm_train_checks" : "compadd -a _gpuadm_train_checks";
  if (argument.kind == Kind::all_checks) does = "compadd -a _gpuadm_checks _gpuadm_train_checks";
  if (argument.kind == Kind::keys) does = "compadd -a _gpuadm_keys";
  return fmt::format(":{}:{}", bracketed(argument.value), does);
}

/// The specifications of one argument: one line for each of its names, one for its position.
std::string specifications(const Argument& argument) {
  std::string text;
  const std::string others = base::join(argument.names, " ");
  const bool optional = argument.attached || argument.value.starts_with('[');
  for (const std::string& name : argument.names) {
    // "=": the value is the next word, or in the same word, as in --output=json.
    const char* form = argument.attached                                                ? "=-"
                       : !argument.value.empty() && !optional && name.starts_with("--") ? "="
                                                                                        : "";
    std::string one = fmt::format("({}){}{}[{}]", others, name, form, bracketed(argument.summary));
    if (!argument.value.empty()) one += (optional ? ":" : "") + zsh_value(argument, true);
    text += fmt::format("        {} \\\n", base::quote(one));
  }
  if (argument.placed)
    text += fmt::format("        {} \\\n",
                        base::quote((argument.repeats ? "*" : ":") + zsh_value(argument, false)));
  return text;
}

std::string branch(const CommandHelp& root, const CommandHelp& command) {
  std::string text = fmt::format("    {})\n", base::quote(name_of(command)));
  if (!command.subcommands.empty()) {
    text += "      verbs=(\n";
    for (const CommandHelp& verb : command.subcommands)
      text += fmt::format("        {}\n", base::quote(verb.path.back() + ":" + verb.summary));
    // A command that also has arguments offers both.
    const bool has_arguments = std::ranges::any_of(command.arguments, &Argument::placed);
    text += fmt::format(
        "      )\n      [[ ${{words[CURRENT]}} = -* ]] || {}\n",
        has_arguments ? "_describe -t verbs verb verbs" : "{ _describe -t verbs verb verbs; return }");
  }
  text += "      _arguments -s -S : \\\n";
  for (const Argument& argument : command.arguments) text += specifications(argument);
  if (&root != &command)
    for (const Argument& argument : root.arguments)
      if (argument.names.back() != "--help") text += specifications(argument);
  return text.substr(0, text.size() - 3) + " ;;\n";
}

constexpr const char* zsh_script = R"(#compdef gpuadm
# zsh completion of gpuadm
# To install it for yourself: gpuadm completion zsh >DIR/_gpuadm, where DIR is a directory of $fpath
_gpuadm() {
  local -a _gpuadm_checks=(@checks@) _gpuadm_train_checks=(@train_checks@) _gpuadm_keys=(@keys@)
  local curcontext=$curcontext path_=gpuadm i at=1
  local -a verbs
  for ((i = 2; i < CURRENT; i++)); do
    case ${words[i]} in
      --) _normal -p gpuadm; return ;;
      @valued@) i=$((i + 1)) ;;
      *) case "$path_ ${words[i]}" in
        @paths@) path_="$path_ ${words[i]}" at=$i ;;
      esac ;;
    esac
  done
  words=("${(@)words[at,-1]}")
  CURRENT=$((CURRENT - at + 1))
  case $path_ in
@branches@  esac
}
if [ "$funcstack[1]" = _gpuadm ]; then _gpuadm "$@"; else compdef _gpuadm gpuadm; fi
)";

}  // namespace

std::string zsh_completion(const CommandHelp& root, const Names& names) {
  std::vector<std::string> paths = paths_below(root), keys = names.keys;
  for (std::string& path : paths) path = base::quote(path);
  for (std::string& key : keys) key = base::quote(key);
  std::string branches;
  each(root, [&](const CommandHelp& command) { branches += branch(root, command); });
  std::string text = base::replace_all(zsh_script, "@checks@", base::join(names.checks, " "));
  text = base::replace_all(text, "@train_checks@", base::join(names.train_checks, " "));
  text = base::replace_all(text, "@keys@", base::join(keys, " "));
  text = base::replace_all(text, "@valued@", base::join(valued(root), " | "));
  text = base::replace_all(text, "@paths@", base::join(paths, " | "));
  return base::replace_all(text, "@branches@", branches);
}

}  // namespace commands
