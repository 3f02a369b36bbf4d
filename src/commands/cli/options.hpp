#pragma once

#include "commands/app.hpp"
#include "commands/cli/connection.hpp"
#include "commands/cli/verbs/verbs.hpp"

#include <CLI/CLI.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

/// Options that several commands share.
namespace commands {

using Formats = std::map<std::string, commands::Format>;
extern const Formats text_or_json;

/// `-o`, with its names listed manually, because CLI11 would show an enumeration as numbers.
void add_format(CLI::App& verb, commands::Format& format, const Formats& names = text_or_json);
/// A comma-separated list, "A,B"; repetitions append.
void add_list(CLI::App& verb, const char* name, std::vector<std::string>& list, const char* text,
              const char* says);
/// `-y`
CLI::Option* add_yes(CLI::App& verb, commands::Consent& consent);
/// `--dry-run` and `-y`
void add_preview(CLI::App& verb, commands::Consent& consent);
/// `--dry-run`, `-y` and `--diff`
void add_consent(CLI::App& verb, commands::Consent& consent, Global& global);
/// `-n`
void add_namespace(CLI::App& verb, std::string& space, const char* says = "Namespace (default: default)");
/// `--no-wait`
void add_waiting(CLI::App& verb, commands::Waiting& waiting);
/// `--no-reboot`
void add_reboots(CLI::App& verb, commands::Rebooting& reboots);
/// `--bundle` and its trusted signers
void add_bundle_source(CLI::App& verb, std::filesystem::path& bundle, std::filesystem::path& signers);
/// The options of init, apply and join, except for hosts and connection.
void add_bring_up(CLI::App& verb, commands::InitOptions& options, Global& global);

/// `common` of add_verb, for options with that name.
inline constexpr auto common_of = [](auto& options) -> commands::Common& { return options.common; };

/// Adds a command to `parent` that calls `does` with its options, which it owns. `common` finds the
/// commands::Common in them.
template <class Options, class Common>
std::shared_ptr<Options> add_verb(CLI::App& verb, Global& global, Verb& chosen, Common common,
                                  base::Result<commands::Outcome> (*does)(const Options&, commands::Io&)) {
  auto options = std::make_shared<Options>();
  verb.fallthrough();
  verb.final_callback([options, common, does, &global, &chosen] {
    chosen = [options, common, does, &global](commands::Io& io) {
      common(*options).assets = global.assets;
      return does(*options, io);
    };
  });
  return options;
}

}  // namespace commands
