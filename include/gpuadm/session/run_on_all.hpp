#pragma once

#include "gpuadm/session/options.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/transport/fleet.hpp"

namespace session {

enum class Shown { printable, raw };

/// Runs one command on every host of the fleet. Text: each host's lines when its command has ended, `host|
/// text`, with stderr on io.err, and a summary there if something failed; JSON: one object at the end.
/// Outcome::failed if a status is not 0 or a host is unreachable, ::unreachable if all are.
[[nodiscard]] Result<Outcome> run_on_all(const transport::Command& command, transport::Fleet& fleet,
                                         Format format, Shown shown, Io& io);

/// The lines of a text, each with a label; made printable, or unchanged.
[[nodiscard]] std::string labelled(std::string_view text, std::string_view label, Shown shown);

/// "90s", "10m", "2h", "1d" as seconds. Fault::usage for anything else; `option`: the one with this value,
/// "--since".
[[nodiscard]] Result<long long> seconds_in(std::string_view option, const std::string& text);

}  // namespace session
