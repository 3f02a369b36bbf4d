#pragma once

#include "commands/command.hpp"
#include "commands/line.hpp"

#include <chrono>
#include <string>
#include <vector>

/// Options that several commands share.
namespace commands {

/// `[TARGET…] -f FILE`. `without`: the hosts of a command line without targets; empty: it is refused.
void add_hosts(Line& line, Hosts& hosts, const std::string& without = "all its hosts, or this machine");
/// `-f FILE`
void add_file(Line& line, std::filesystem::path& file);
/// Connection settings, time limits, and --assets.
void add_connection(Line& line, Common& common);
/// `--kubeconfig`, of commands that need only the API.
Option add_kubeconfig(Line& line, Common& common);
/// The same; with it, the namespace `ns` is that of its current context, unless `-n`, which `given` declares,
/// is on the command line.
void add_kubeconfig(Line& line, Common& common, std::string& ns, const Option& given);
/// `-n` and `--kubeconfig`
void add_access(Line& line, Common& common, std::string& ns,
                const char* summary = "Namespace (default: default, with --kubeconfig that of its context)");
/// `-o`; without `choices`: text and JSON.
void add_format(Line& line, Format& format, const Line::Choices<Format>& choices = {});
/// `-y`
Option add_yes(Line& line, Consent& consent);
/// `--dry-run`
Option add_dry_run(Line& line, Consent& consent);
/// `--dry-run` and `-y`
void add_preview(Line& line, Consent& consent);
/// `--dry-run`, `-y` and `--diff`. `only_with`: the option that they need.
void add_consent(Line& line, Consent& consent);
void add_consent(Line& line, Consent& consent, Option only_with);
/// `-n`
Option add_namespace(Line& line, std::string& name, const char* summary = "Namespace (default: default)");
/// `--wait-timeout`
void add_wait_timeout(Line& line, std::chrono::seconds& timeout, const char* summary);
/// `--no-wait`
void add_waiting(Line& line, Waiting& waiting);
/// `--no-reboot`
void add_reboots(Line& line, Rebooting& reboots);
/// `--bundle` and its trusted signers
void add_bundle_source(Line& line, std::filesystem::path& bundle, std::filesystem::path& signers);

/// The hosts of a command that changes them, consent, `-o` and the connection.
template <class Options>
void add_change(Line& line, Options& options) {
  add_hosts(line, options.hosts);
  add_consent(line, options.consent);
  add_format(line, options.format);
  add_connection(line, options.common);
}

}  // namespace commands
