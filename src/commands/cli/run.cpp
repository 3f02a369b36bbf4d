#include "gpuadm/commands/run.hpp"

#include "gpuadm/base/redact.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/report/wrap.hpp"

#include "commands/cli/complain.hpp"
#include "commands/cli/help.hpp"
#include "commands/cli/hints.hpp"
#include "commands/cli/model.hpp"
#include "commands/cli/parser.hpp"
#include "commands/cli/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace commands {
namespace {

int exit_code(Outcome outcome) {
  switch (outcome) {
    case Outcome::done:
      return 0;
    case Outcome::failed:
      return 1;
    case Outcome::blocked:
      return 3;
    case Outcome::unreachable:
      return 4;
    case Outcome::interrupted:
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

int refuse(const base::Error& error, const Io& io) {
  // Later lines of a wrapped message are indented; a hint can be copied from the terminal.
  const auto [fault, what, hint] = base::error_without_secrets(error);
  const std::string message = "gpuadm: " + base::printable(what, 1u << 16);
  for (const std::string_view line : base::lines(message)) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    io.err(std::string(indent, ' ') + report::wrapped(line.substr(indent), indent + 2, io.err_style.width) +
           "\n");
  }
  const std::string typed = io.err_style.complete ? io.err_style.complete(hint) : hint;
  if (!hint.empty()) io.err("  " + report::padded(base::printable(typed), 2, io.err_style.width) + "\n");
  return exit_code(fault);
}

Io io_of(const Settings& settings) {
  const auto verbosity = settings.quiet         ? report::Verbosity::quiet
                         : settings.verbose > 1 ? report::Verbosity::commands
                         : settings.verbose > 0 ? report::Verbosity::verbose
                                                : report::Verbosity::normal;
  Io io = make_io(verbosity, settings.no_color ? report::Color::no : report::Color::yes,
                  settings.plain ? report::View::plain : report::View::live);
  if (settings.log_format == "json") io.log = io.err;
  if (settings.diff) io.out_style.diffs = io.err_style.diffs = report::Diffs::shown;
  return io;
}

/// `--help all`
HelpExtent extent_of(std::span<const char* const> words) {
  for (std::size_t i = 1; i < words.size(); ++i)
    if (std::string_view(words[i]) == "all" &&
        (std::string_view(words[i - 1]) == "--help" || std::string_view(words[i - 1]) == "-h"))
      return HelpExtent::all;
  return HelpExtent::common;
}

/// The help of the innermost recognized command.
std::string help_for(const CLI::App& root, const report::Style& style, HelpExtent extent) {
  constexpr std::size_t narrowest = 60, widest = 110, usual = 80;
  return help_of(model_of(recognized(root)),
                 std::clamp(style.width == 0 ? usual : style.width, narrowest, widest), extent);
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
  const bool has_commands = !recognized(root).get_subcommands([](const CLI::App*) { return true; }).empty();
  const std::vector<std::string> rest = root.remaining(true);
  return has_commands && !rest.empty() && !rest.front().starts_with('-');
}

/// `gpuadm help COMMAND [all]` as `gpuadm COMMAND --help [all]`.
std::vector<const char*> without_help(int argc, const char* const* argv) {
  std::vector<const char*> words(argv, argv + argc);
  if (words.size() < 2 || std::string_view(words[1]) != "help") return words;
  words.erase(std::next(words.begin()));
  const bool all = words.size() > 2 && std::string_view(words.back()) == "all";
  words.insert(all ? std::prev(words.end()) : words.end(), "--help");
  return words;
}

/// Whether a mistake is in a line of a file that was typed: "cluster.yaml:3:1: ...". Jobs have other keys.
bool is_in_cluster_file(const base::Error& error, std::span<const std::string> words) {
  if (error.fault != base::Fault::spec || std::ranges::find(words, "train") != words.end()) return false;
  return std::ranges::any_of(words, [&](const std::string& word) {
    const std::size_t digit = word.size() + 1;
    return error.what.starts_with(word + ":") && digit < error.what.size() && error.what[digit] >= '0' &&
           error.what[digit] <= '9';
  });
}

/// What to type after a mistake for which there is no closer advice.
std::string usual_hint(const base::Error& error, std::span<const std::string> words, const CLI::App& root) {
  if (error.fault == base::Fault::usage)
    return name_of(model_of(recognized(root))) + " --help shows the usage";
  return is_in_cluster_file(error, words) ? "gpuadm config explain lists all keys" : std::string();
}

int parse_and_call(int count, const char* const* given) {
  const std::vector<const char*> all_words = without_help(count, given);
  Settings settings;
  Run chosen;
  CLI::App root{about, "gpuadm"};
  declare_commands(root, settings, chosen);
  const std::span<const char* const> words = split_command(all_words, root, settings);
  if (const auto word = empty_word(words))
    return refuse({base::Fault::usage,
                   fmt::format("{} is empty", word->empty() ? "an argument" : "the value of " + *word),
                   "check for an unset shell variable"},
                  io_of(settings));
  try {
    root.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::CallForHelp& call) {
    if (extent_of(all_words) == HelpExtent::common && names_no_command(root))
      return refuse(complain(call, root), io_of(settings));
    const Io io = io_of(settings);
    io.out(help_for(root, io.out_style, extent_of(all_words)));
    return 0;
  } catch (const CLI::CallForVersion&) {
    io_of(settings).out("gpuadm " GPUADM_VERSION "\n");
    return 0;
  } catch (const CLI::ParseError& error) {
    return refuse(complain(error, root), io_of(settings));
  }
  Io io = io_of(settings);
  io.command.assign(all_words.begin(), all_words.end());
  io.out_style.complete = [typed = std::make_shared<std::optional<TypedLine>>(),
                           words = io.command](std::string_view hint) {
    if (!*typed) *typed = typed_line(words);  // for the first hint: most commands have none
    return complete_hint(hint, **typed);
  };
  io.err_style.complete = io.out_style.complete;
  if (!chosen) {
    io.err(help_for(root, io.err_style, HelpExtent::common));
    return exit_code(base::Fault::usage);
  }
  const auto outcome = [&]() -> base::Result<Outcome> {
    TRY(complete(settings));
    return chosen(io);
  }();
  if (outcome) return exit_code(*outcome);
  base::Error error = outcome.error();
  if (error.hint.empty()) error.hint = usual_hint(error, io.command, root);
  if (error.fault == base::Fault::usage)
    if (const std::string value = detached_value(error, root, words); !value.empty()) error.hint = value;
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
               io_of(Settings{}));
    return code == 0 ? lost : code;
  } catch (const std::exception& error) {
    return refuse({base::Fault::bug, fmt::format("a bug in gpuadm: {}", error.what()), {}},
                  io_of(Settings{}));
  }
}

}  // namespace commands
