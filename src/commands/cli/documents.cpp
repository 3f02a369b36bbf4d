#include "commands/cli/documents.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include "commands/cli/completion.hpp"
#include "commands/cli/help.hpp"
#include "commands/cli/manual.hpp"
#include "commands/names.hpp"

#include <cstdlib>
#include <map>
#include <memory>

namespace commands {
namespace {

using Script = std::string (*)(const Command&, const Names&);

const std::map<std::string, Script>& shells() {
  static const std::map<std::string, Script> shells = {
      {"bash", bash_completion}, {"fish", fish_completion}, {"zsh", zsh_completion}};
  return shells;
}

/// Today, or the date of a reproducible build (reproducible-builds.org/specs/source-date-epoch).
base::Time manual_date() {
  const char* epoch = std::getenv("SOURCE_DATE_EPOCH");
  const auto seconds = base::to_int(epoch == nullptr ? "" : epoch);
  return seconds ? base::Time(std::chrono::seconds(*seconds)) : base::now();
}

base::Result<commands::Outcome> write_manual(const Command& root, const std::filesystem::path& folder,
                                             commands::Io& io) {
  if (folder.empty()) {
    io.out(reference_of(root));
    return commands::Outcome::done;
  }
  for (const auto& [name, text] : manual_of(root, GPUADM_VERSION, manual_date()))
    TRY(base::write_file(folder / name, text, 0644));
  return commands::Outcome::done;
}

}  // namespace

void add_completion(CLI::App& root, Verb& chosen) {
  auto* verb = root.add_subcommand("completion", "Print the shell completion script")->fallthrough();
  const auto shell = std::make_shared<std::string>();
  verb->add_option("SHELL", *shell, "Shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->option_text("bash|zsh|fish");
  verb->final_callback([shell, &root, &chosen] {
    chosen = [shell, &root](commands::Io& io) -> base::Result<commands::Outcome> {
      io.out(shells().at(*shell)(
          model_of(root), {commands::check_ids(), commands::train_check_ids(), commands::cluster_keys()}));
      return commands::Outcome::done;
    };
  });

  auto* manual =
      root.add_subcommand("manual", "Write a page of the manual for each command, or print the reference");
  manual->group("")->fallthrough();
  const auto folder = std::make_shared<std::filesystem::path>();
  manual->add_option("DIR", *folder, "Directory for the pages; without it: Markdown");
  manual->final_callback([folder, &root, &chosen] {
    chosen = [folder, &root](commands::Io& io) { return write_manual(model_of(root), *folder, io); };
  });
}

}  // namespace commands
