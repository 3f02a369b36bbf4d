#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"

#include "commands/cli/completion.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

namespace commands {
namespace {

/// The command that fills COMPREPLY with the possible values.
std::string fill(const Argument& argument) {
  switch (argument.kind) {
    case Kind::choice:
      return fmt::format("_gpuadm_words {}", base::quote(base::join(argument.choices, " ")));
    case Kind::file:
      return "_gpuadm_files -f";
    case Kind::folder:
      return "_gpuadm_files -d";
    case Kind::checks:
      return "_gpuadm_list \"$_gpuadm_checks\"";
    case Kind::train_checks:
      return "_gpuadm_list \"$_gpuadm_train_checks\"";
    case Kind::all_checks:
      return "_gpuadm_list \"$_gpuadm_checks $_gpuadm_train_checks\"";
    case Kind::keys:
      return "_gpuadm_words \"$_gpuadm_keys\"";
    case Kind::flag:
    case Kind::word:
      break;
  }
  return ":";
}

/// One branch of a `case` per answer, with all patterns for it.
std::string branches(const std::map<std::string, std::vector<std::string>>& patterns_by_answer,
                     std::string_view indent) {
  std::string text;
  for (const auto& [answer, patterns] : patterns_by_answer)
    text += fmt::format("{}{}) {} ;;\n", indent, base::join(patterns, " | "), answer);
  return text;
}

/// What follows an option: by its name alone if it has the same meaning in all commands.
std::string values(const CommandHelp& root) {
  std::map<std::string, std::set<std::string>> answers;
  const auto all = [&](const auto& call) {
    each(root, [&](const CommandHelp& command) {
      for (const Argument& argument : command.arguments)
        if (!argument.value.empty() && !argument.attached)
          for (const std::string& name : argument.names) call(command, name, fill(argument));
    });
  };
  all([&](const CommandHelp&, const std::string& name, const std::string& answer) {
    answers[name].insert(answer);
  });
  std::map<std::string, std::vector<std::string>> special, general;
  for (const auto& [name, of] : answers)
    if (of.size() == 1) general[*of.begin()].push_back("*:" + name);
  all([&](const CommandHelp& command, const std::string& name, const std::string& answer) {
    if (answers.at(name).size() > 1)
      special[answer].push_back(base::quote(fmt::format("{}:{}", name_of(command), name)));
  });
  return branches(special, "    ") + branches(general, "    ");
}

/// The other words of a command line: its options after a dash, otherwise its commands or arguments.
std::string places(const CommandHelp& root) {
  std::string text;
  each(root, [&](const CommandHelp& command) {
    std::string options, place;
    for (const Argument& argument : command.arguments) {
      for (const std::string& name : argument.names)
        if (name.starts_with("--") || argument.names.size() == 1)
          options += (options.empty() ? "" : " ") + name;
      if (argument.placed && place.empty() && argument.kind != Kind::word) place = fill(argument);
    }
    std::string verbs;
    for (const CommandHelp& verb : command.subcommands)
      verbs += (verbs.empty() ? "" : " ") + verb.path.back();
    if (!verbs.empty())
      place = place.starts_with("_gpuadm_list \"")
                  ? base::replace_all(place, "_list \"", "_list \"" + verbs + " ")
                  : "_gpuadm_words " + base::quote(verbs);
    text += fmt::format("    {}) options={}", base::quote(name_of(command)), base::quote(options));
    if (!place.empty()) text += fmt::format(" place={}", base::quote(place));
    text += " ;;\n";
  });
  return text;
}

std::string global_options(const CommandHelp& root) {
  std::string names;
  for (const Argument& argument : root.arguments)
    if (!argument.names.empty()) names += " " + argument.names.back();
  return names;
}

constexpr const char* bash_script = R"(# bash completion of gpuadm
# To install it for yourself: echo 'source <(gpuadm completion bash)' >>~/.bashrc
_gpuadm_checks='@checks@'
_gpuadm_train_checks='@train_checks@'
_gpuadm_keys='@keys@'
_gpuadm_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }
_gpuadm_files() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen "$1" -- "$cur"); }
# Words with commas between them.
_gpuadm_list() {
  local before=
  [[ $cur != *,* ]] || before=${cur%,*},
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${cur##*,}")
}
_gpuadm() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} path=gpuadm options= place= i
  COMPREPLY=()
  if [ "$cur" = = ]; then cur=; elif [ "$prev" = = ]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --) compopt -o default 2>/dev/null; return ;;
      @valued@) i=$((i + 1)); [ "${COMP_WORDS[i]}" != = ] || i=$((i + 1)) ;;
      *) case "$path ${COMP_WORDS[i]}" in
        @paths@) path="$path ${COMP_WORDS[i]}" ;;
      esac ;;
    esac
  done
  case "$path:$prev" in
@values@    *) [[ $prev != -* || $cur = -* ]] || prev=; _gpuadm_place ;;
  esac
}
_gpuadm_place() {
  case $path in
@places@  esac
  if [[ $cur = -* ]]; then _gpuadm_words "$options@global@"; else eval "$place"; fi
}
complete -F _gpuadm gpuadm
)";

}  // namespace

std::string bash_completion(const CommandHelp& root, const Names& names) {
  std::vector<std::string> paths = paths_below(root);
  for (std::string& path : paths) path = base::quote(path);
  std::string text = bash_script;
  for (const auto& [word, value] :
       std::map<std::string, std::string>{{"@checks@", base::join(names.checks, " ")},
                                          {"@train_checks@", base::join(names.train_checks, " ")},
                                          {"@keys@", base::join(names.keys, " ")},
                                          {"@valued@", base::join(valued(root), " | ")},
                                          {"@paths@", base::join(paths, " | ")},
                                          {"@values@", values(root)},
                                          {"@places@", places(root)},
                                          {"@global@", global_options(root)}})
    text = base::replace_all(text, word, value);
  return text;
}

}  // namespace commands
