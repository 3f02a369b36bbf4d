#pragma once

#include "gpuadm/session/options.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/transport/fleet.hpp"

namespace session {

enum class Shown { printable, raw };

/// Runs one command on every host of the fleet. Text: each host's lines as soon as it has ended, `host|
/// text`, what it said on stderr to io.err, and a summary there where something failed; JSON: one object at
/// the end. Outcome::failed where a status was not 0 or a host was not reached, ::unreachable where none was.
[[nodiscard]] Result<Outcome> run_on_all(const transport::Command& command, transport::Fleet& fleet,
                                         Format format, Shown shown, Io& io);

/// The lines of a text with a label before each; made printable, or as they are.
[[nodiscard]] std::string labelled(std::string_view text, std::string_view label, Shown shown);

/// "90s", "10m", "2h", "1d" as seconds. Fault::usage for anything else.
[[nodiscard]] Result<long long> seconds_in(const std::string& text);

}  // namespace session
