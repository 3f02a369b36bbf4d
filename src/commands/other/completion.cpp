#include "commands/cli/completion.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/train_check.hpp"

#include "commands/cli/help.hpp"
#include "commands/cli/manual.hpp"
#include "commands/inspect/demo.hpp"
#include "commands/shared_options.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace commands {

namespace {

std::vector<std::string> check_ids() {
  std::vector<std::string> ids;
  for (const checks::About& about : session::every_check()) ids.emplace_back(about.id);
  return ids;
}

std::vector<std::string> train_check_ids() {
  std::vector<std::string> ids;
  for (const workload::TrainCheckRow& row : workload::train_checks()) ids.emplace_back(row.id);
  return ids;
}

std::vector<std::string> cluster_keys() {
  std::vector<std::string> paths;
  for (const spec::Key& key : spec::keys()) paths.push_back(key.path);
  return paths;
}

std::vector<std::string> addon_names() {
  std::vector<std::string> names;
  for (const workload::Addon& addon : workload::addons()) names.emplace_back(addon.name);
  return names;
}

/// The faults that gpuadm contains; none if they cannot be read.
std::vector<std::string> demo_names() {
  std::vector<std::string> names;
  const auto assets = assets::Store::open({});
  const auto all = assets ? demos(*assets) : Result<std::vector<Demo>>(std::vector<Demo>());
  if (all)
    for (const Demo& demo : *all) names.push_back(demo.name);
  return names;
}

void give_choices(Argument& argument, const std::vector<std::string>& choices) {
  argument.kind = Kind::choice;
  argument.choices = choices;
}

/// The model with names that only the program knows: add-ons and demos.
CommandHelp with_choices(CommandHelp command) {
  const std::string name = name_of(command);
  for (Argument& argument : command.arguments) {
    if (name.starts_with("gpuadm addon ") && argument.placed && argument.value == "NAME")
      give_choices(argument, addon_names());
    if (std::ranges::find(argument.names, "--demo") != argument.names.end())
      give_choices(argument, demo_names());
  }
  for (CommandHelp& inner : command.subcommands) inner = with_choices(std::move(inner));
  return command;
}

using Script = std::string (*)(const CommandHelp&, const Names&);

const std::map<std::string, Script>& shells() {
  static const std::map<std::string, Script> shells = {
      {"bash", bash_completion}, {"fish", fish_completion}, {"zsh", zsh_completion}};
  return shells;
}

struct CompletionOptions {
  std::string shell;
};

Result<Outcome> completion(const CompletionOptions& options, Io& io) {
  io.out(shells().at(options.shell)(with_choices(whole_model()),
                                    {check_ids(), train_check_ids(), cluster_keys()}));
  return Outcome::done;
}

/// Today, or the date of a reproducible build (reproducible-builds.org/specs/source-date-epoch).
base::Time manual_date() {
  const char* epoch = std::getenv("SOURCE_DATE_EPOCH");
  const auto seconds = base::to_int(epoch == nullptr ? "" : epoch);
  return seconds ? base::Time(std::chrono::seconds(*seconds)) : base::now();
}

struct ManualOptions {
  std::filesystem::path folder;  ///< empty: the reference, as Markdown
};

Result<Outcome> manual(const ManualOptions& options, Io& io) {
  if (options.folder.empty()) {
    io.out(reference_of(whole_model()));
    return Outcome::done;
  }
  for (const auto& [name, text] : manual_of(whole_model(), GPUADM_VERSION, manual_date()))
    TRY(base::write_file(options.folder / name, text, 0644));
  return Outcome::done;
}

}  // namespace

Command completion_command() {
  return CommandRow<CompletionOptions>{
      .name = "completion",
      .group = Group::other,
      .summary = "Print the shell completion script",
      .options =
          [](Line& line, CompletionOptions& options) {
            line.value("SHELL", options.shell, "bash|zsh|fish", "Shell")
                .required()
                .one_of({"bash", "zsh", "fish"});
          },
      .examples = {{"source <(gpuadm completion bash)", "in ~/.bashrc"},
                   {"gpuadm completion zsh >~/.zfunc/_gpuadm", "a folder of $fpath"},
                   {"gpuadm completion fish >~/.config/fish/completions/gpuadm.fish", ""}},
      .run = completion};
}

Command manual_command() {
  return CommandRow<ManualOptions>{
      .name = "manual",
      .group = Group::hidden,
      .summary = "Write a page of the manual for each command, or print the reference",
      .options =
          [](Line& line, ManualOptions& options) {
            line.argument("DIR", options.folder, "Directory for the pages; without it: Markdown");
          },
      .examples = {},
      .run = manual};
}

}  // namespace commands
