#include "gpuadm/cli/run.hpp"

#include "gpuadm/base/text.hpp"

#include "cli/complain.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <span>

namespace cli {
namespace {

constexpr const char* about = "gpuadm turns machines with NVIDIA GPUs into a Kubernetes cluster over SSH.";
constexpr const char* exit_codes =
    "Exit codes: 0 done, 1 failed (hosts may have changed), 2 bad command line or cluster file,\n"
    "3 blocked by findings (nothing was changed), 4 a host could not be reached, 130 interrupted.";

int exit_code(app::Outcome outcome) {
  switch (outcome) {
    case app::Outcome::done:
      return 0;
    case app::Outcome::failed:
      return 1;
    case app::Outcome::blocked:
      return 3;
    case app::Outcome::unreachable:
      return 4;
    case app::Outcome::interrupted:
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

int refuse(const base::Error& error, const app::Io& io) {
  io.err(fmt::format("gpuadm: {}\n", base::printable(error.what, 1u << 16)));
  if (!error.hint.empty()) io.err(fmt::format("  {}\n", base::printable(error.hint)));
  return exit_code(error.fault);
}

void add_global(CLI::App& root, Global& global) {
  root.add_option("--assets", global.assets, "Files here replace gpuadm's own playbooks, templates and data")
      ->option_text("DIR");
  auto* verbose = root.add_flag("-v,--verbose", global.verbose, "Say more");
  root.add_flag("-q,--quiet", global.quiet, "Say only what went wrong")->excludes(verbose);
  root.add_flag("--no-color", global.no_color, "No colour; the same as setting NO_COLOR");
}

app::Io io_of(const Global& global) {
  const auto verbosity = global.quiet     ? report::Verbosity::quiet
                         : global.verbose ? report::Verbosity::verbose
                                          : report::Verbosity::normal;
  return make_io(verbosity, global.no_color ? report::Colour::no : report::Colour::yes);
}

/// Takes what stands behind `--` of exec away from the parser: it is for hosts, whatever it looks like.
/// Returns how many words are left.
int split_command(int argc, const char* const* argv, Global& global) {
  const auto words = std::span(argv, static_cast<std::size_t>(argc));
  const auto dashes = std::ranges::find(words, std::string_view("--"));
  // The verb is the first word that is no option of gpuadm itself; --assets has a value.
  auto verb = std::next(words.begin());
  while (verb < dashes && std::string_view(*verb).starts_with('-'))
    verb += std::string_view(*verb) == "--assets" ? 2 : 1;
  if (dashes == words.end() || verb >= dashes || std::string_view(*verb) != "exec") return argc;
  global.command.assign(std::next(dashes), words.end());
  return static_cast<int>(dashes - words.begin());
}

int parse_and_call(int argc, const char* const* argv) {
  Global global;
  argc = split_command(argc, argv, global);
  Verb chosen;
  CLI::App root{about, "gpuadm"};
  root.get_formatter()->column_width(36);
  root.footer(exit_codes);
  root.require_subcommand(0, 1);
  add_global(root, global);
  add_verbs(root, global, chosen);
  try {
    root.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    io_of(global).out(root.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    return refuse(complain(error, root), io_of(global));
  }
  app::Io io = io_of(global);
  if (!chosen) {
    io.err(root.help());
    return exit_code(base::Fault::usage);
  }
  const auto outcome = chosen(io);
  return outcome ? exit_code(*outcome) : refuse(outcome.error(), io);
}

}  // namespace

int run(int argc, const char* const* argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe must not end a run in the middle of a step
  try {
    return parse_and_call(argc, argv);
  } catch (const std::exception& error) {
    return refuse({base::Fault::bug, fmt::format("a bug in gpuadm: {}", error.what()), {}}, io_of(Global{}));
  }
}

}  // namespace cli
