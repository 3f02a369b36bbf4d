#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/session/options.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

/// The commands of gpuadm: the options, the function and the row of a command are in one file; small commands
/// of a group share one.
namespace commands {

using base::Result;

using session::Common;
using session::Connection;
using session::Consent;
using session::Format;
using session::Hosts;
using session::Io;
using session::Outcome;
using session::Rebooting;
using session::Waiting;

class Line;

/// The headings of `gpuadm --help`, in its order.
enum class Group { inspect, install, operate, workloads, undo, bundles, other, hidden };

struct Example {
  std::string command, summary;
};

/// A command with complete options.
using Run = std::function<Result<Outcome>(Io&)>;

/// A command: parser, help, completion, man pages and the reference follow from it.
struct Command {
  std::string name;  ///< the words after `gpuadm`: "etcd snapshot"
  Group group = Group::other;
  std::string summary;
  std::function<Run(Line&)> declare;  ///< declares the options; empty: a group of commands
  std::vector<Example> examples;      ///< the most common first
};

/// The row of a command, which its file returns, and src/commands/table.cpp lists.
template <class Options>
struct CommandRow {
  const char* name;
  Group group;
  const char* summary;
  void (*options)(Line&, Options&);  ///< declares the options
  std::vector<Example> examples;
  Result<Outcome> (*run)(const Options&, Io&);  ///< the options are complete

  // NOLINTNEXTLINE(google-explicit-constructor): a row is returned as a command
  operator Command() const {
    return {name, group, summary,
            [declare = options, call = run](Line& line) -> Run {
              const auto values = std::make_shared<Options>();
              declare(line, *values);
              return [values, call](Io& io) { return call(*values, io); };
            },
            examples};
  }
};

/// Every command, in the order of `gpuadm --help`; a group stands before its commands.
[[nodiscard]] const std::vector<Command>& all_commands();

}  // namespace commands
