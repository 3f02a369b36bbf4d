#include "gpuadm/commands/run.hpp"

#include "gpuadm/base/redact.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/report/wrap.hpp"

#include "commands/cli/complain.hpp"
#include "commands/cli/documents.hpp"
#include "commands/cli/help.hpp"
#include "commands/cli/terminal.hpp"
#include "commands/cli/verbs/verbs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <string>

namespace commands {
namespace {

constexpr const char* about = "gpuadm turns machines with NVIDIA GPUs into a Kubernetes cluster over SSH.";

int exit_code(commands::Outcome outcome) {
  switch (outcome) {
    case commands::Outcome::done:
      return 0;
    case commands::Outcome::failed:
      return 1;
    case commands::Outcome::blocked:
      return 3;
    case commands::Outcome::unreachable:
      return 4;
    case commands::Outcome::interrupted:
      return 130;
  }
  return 1;
}

int exit_code(base::Fault fault) {
  switch (fault) {
    case base::Fault::usage:
    case base::Fault::spec:
      return 2;
    case base::Fault::blocked:
      return 3;
    case base::Fault::unreachable:
    case base::Fault::auth:
    case base::Fault::host_key:
      return 4;
    case base::Fault::interrupted:
      return 130;
    case base::Fault::timeout:
    case base::Fault::remote:
    case base::Fault::parse:
    case base::Fault::bug:
      return 1;
  }
  return 1;
}

int refuse(const base::Error& error, const commands::Io& io) {
  // Later lines of a wrapped message are indented; a hint can be copied from the terminal.
  const auto [fault, what, hint] = base::error_without_secrets(error);
  const std::string says = "gpuadm: " + base::printable(what, 1u << 16);
  for (const std::string_view line : base::lines(says)) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    io.err(std::string(indent, ' ') + report::wrapped(line.substr(indent), indent + 2, io.err_style.width) +
           "\n");
  }
  if (!hint.empty()) io.err("  " + report::padded(base::printable(hint), 2, io.err_style.width) + "\n");
  return exit_code(fault);
}

void add_global(CLI::App& root, Global& global) {
  root.add_option("--assets", global.assets,
                  "Directory with files that override built-in playbooks, templates and data")
      ->option_text("DIR");
  auto* verbose =
      root.add_flag("-v,--verbose", global.verbose,
                    "Show more, including unchanged steps; -vv: also the shell code of steps and its output");
  root.add_flag("-q,--quiet", global.quiet, "Show only errors")->excludes(verbose);
  root.add_flag("--no-color", global.no_color, "Disable color, as does the variable NO_COLOR");
  root.add_flag("--plain", global.plain,
                "Print plain lines without color or rewriting, for screen readers and logs");
  root.add_option("--log-format", global.log_format,
                  "Progress format; json: one event per line on standard error")
      ->check(CLI::IsMember({"text", "json"}))
      ->option_text("text|json");
}

commands::Io io_of(const Global& global) {
  const auto verbosity = global.quiet         ? report::Verbosity::quiet
                         : global.verbose > 1 ? report::Verbosity::commands
                         : global.verbose > 0 ? report::Verbosity::verbose
                                              : report::Verbosity::normal;
  commands::Io io = make_io(verbosity, global.no_color ? report::Color::no : report::Color::yes,
                            global.plain ? report::View::plain : report::View::live);
  if (global.log_format == "json") io.log = io.err;
  if (global.diff) io.out_style.diffs = io.err_style.diffs = report::Diffs::shown;
  return io;
}

/// The help of the last recognized command.
std::string help_for(const CLI::App& root, const report::Style& style) {
  const CLI::App* verb = &root;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands().front();
  constexpr std::size_t narrowest = 60, widest = 110, usual = 80;
  return help_of(model_of(*verb), std::clamp(style.width == 0 ? usual : style.width, narrowest, widest));
}

/// Whether the arguments after `--` are a command for hosts or containers. `words`: from the command on, up
/// to the dashes.
bool runs_a_command(std::span<const char* const> words) {
  const std::string_view verb = words.front();
  return verb == "exec" || verb == "train" ||
         (verb == "notebook" && std::ranges::find(words, std::string_view("create")) != words.end());
}

/// Removes the arguments after `--` of such a command from the parser. Returns the number of remaining
/// arguments.
int split_command(int argc, const char* const* argv, Global& global) {
  const auto words = std::span(argv, static_cast<std::size_t>(argc));
  const auto dashes = std::ranges::find(words, std::string_view("--"));
  // The command is the first word that is not an option of gpuadm itself; two of them have a value.
  const auto has_value = [](std::string_view word) { return word == "--assets" || word == "--log-format"; };
  auto verb = std::next(words.begin());
  while (verb < dashes && std::string_view(*verb).starts_with('-')) verb += has_value(*verb) ? 2 : 1;
  if (dashes == words.end() || verb >= dashes || !runs_a_command({verb, dashes})) return argc;
  global.command.assign(std::next(dashes), words.end());
  return static_cast<int>(dashes - words.begin());
}

/// The first empty argument: usually an unset shell variable. An empty host would mean this machine, and an
/// empty value the next word.
std::optional<std::string> empty_word(std::span<const char* const> words) {
  for (const std::string_view word : words)
    if (word.empty() || (word.starts_with("--") && word.ends_with('='))) return std::string(word);
  return std::nullopt;
}

/// Whether a word is an unknown command.
bool names_no_command(const CLI::App& root) {
  const CLI::App* verb = &root;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands().front();
  const bool has_commands = !verb->get_subcommands([](const CLI::App*) { return true; }).empty();
  const std::vector<std::string> rest = root.remaining(true);
  return has_commands && !rest.empty() && !rest.front().starts_with('-');
}

/// `gpuadm help COMMAND` as `gpuadm COMMAND --help`.
std::vector<const char*> without_help(int argc, const char* const* argv) {
  std::vector<const char*> words(argv, argv + argc);
  if (words.size() < 2 || std::string_view(words[1]) != "help") return words;
  words.erase(std::next(words.begin()));
  words.push_back("--help");
  return words;
}

int parse_and_call(int count, const char* const* given) {
  const std::vector<const char*> line = without_help(count, given);
  int argc = static_cast<int>(line.size());
  const char* const* argv = line.data();
  Global global;
  const int words = argc;
  argc = split_command(argc, argv, global);
  if (const auto word = empty_word(std::span(argv, static_cast<std::size_t>(argc))))
    return refuse({base::Fault::usage,
                   fmt::format("{} is empty", word->empty() ? "an argument" : "the value of " + *word),
                   "check for an unset shell variable"},
                  io_of(global));
  Verb chosen;
  CLI::App root{about, "gpuadm"};
  root.set_help_flag("-h,--help", "Show this help");
  root.set_version_flag("--version", "gpuadm " GPUADM_VERSION, "Show the version of gpuadm");
  root.require_subcommand(0, 1);
  add_global(root, global);
  add_verbs(root, global, chosen);
  add_completion(root, chosen);
  try {
    root.parse(argc, argv);
  } catch (const CLI::CallForHelp& call) {
    if (names_no_command(root)) return refuse(complain(call, root), io_of(global));
    const commands::Io io = io_of(global);
    io.out(help_for(root, io.out_style));
    return 0;
  } catch (const CLI::CallForVersion&) {
    io_of(global).out("gpuadm " GPUADM_VERSION "\n");
    return 0;
  } catch (const CLI::ParseError& error) {
    return refuse(complain(error, root), io_of(global));
  }
  commands::Io io = io_of(global);
  io.command.assign(argv, argv + words);
  if (!chosen) {
    io.err(help_for(root, io.err_style));
    return exit_code(base::Fault::usage);
  }
  const auto outcome = chosen(io);
  if (outcome) return exit_code(*outcome);
  base::Error error = outcome.error();
  if (error.fault == base::Fault::usage)
    if (const std::string value =
            detached_value(error, root, std::span(argv, static_cast<std::size_t>(argc)));
        !value.empty())
      error.hint = value;
  return refuse(error, io);
}

}  // namespace

int run(int argc, const char* const* argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe must not end a run in the middle of a step
  try {
    const int code = parse_and_call(argc, argv);
    if (output_error() == 0) return code;
    const int lost =
        refuse({base::Fault::remote,
                fmt::format("cannot write to standard output: {}", std::strerror(output_error())),
                {}},
               io_of(Global{}));
    return code == 0 ? lost : code;
  } catch (const std::exception& error) {
    return refuse({base::Fault::bug, fmt::format("a bug in gpuadm: {}", error.what()), {}}, io_of(Global{}));
  }
}

}  // namespace commands
