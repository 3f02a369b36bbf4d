#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/transport/transport.hpp"

#include <string>
#include <vector>

namespace transport {

/// A program on a host for a person who types: it is connected to the input and output of gpuadm.
struct TerminalProgram {
  std::string script;              ///< POSIX sh, without secrets: argv shows it
  std::vector<std::string> words;  ///< its arguments
  As as = As::root;                ///< root: through sudo, which asks for its password on the terminal
  bool terminal = true;            ///< with a terminal on the host; otherwise bytes are passed on unchanged
};

/// The local program for it: the OpenSSH client with the operator's own settings, prompts included; on this
/// machine, and with a kubeconfig, sh.
[[nodiscard]] std::vector<std::string> terminal_argv(const Options& options, const spec::Endpoint& endpoint,
                                                     const TerminalProgram& program);

/// Replaces this process by a program, which gets its input and output. Returns only if that fails:
/// Fault::usage if the program is not installed.
[[nodiscard]] base::Error exec_program(const std::vector<std::string>& argv);

}  // namespace transport
