#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/session/options.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <map>
#include <string>

namespace session {

/// Whether a fault means that the host could not be connected to, logged into, trusted, or waited for.
[[nodiscard]] bool is_unreachable(base::Fault fault);

/// What the hosts say of themselves, and the text it was read from (absent where a host gave none).
struct Survey {
  facts::Census census;
  std::map<std::string, std::string> probes;
  /// No host answered because none could be reached, logged into or trusted.
  [[nodiscard]] bool none_reached() const;
};

/// A script that only reads ("playbooks/probe.sh") as it is sent: playbooks/frame.sh before it.
[[nodiscard]] Result<std::string> reading_script(const assets::Store& assets, std::string_view path);

/// Whether a node is also asked why something on it does not run: playbooks/reasons.sh.
enum class Reasons { skipped, read };

/// What reads the facts of one host.
[[nodiscard]] Result<transport::Command> probe_command(const assets::Store& assets,
                                                       Reasons reasons = Reasons::skipped);
/// The facts in the answer to it. Fault::remote or parse where there are none.
[[nodiscard]] Result<facts::Facts> read_probe(const std::string& host, const transport::Exit& exit,
                                              base::Time answered);

/// Whether a host that has answered is needed again.
enum class Afterwards { keep_connection, close_connection };

/// Whether the probes' texts are of use beyond the facts.
enum class Texts { kept, dropped };

/// Runs playbooks/probe.sh on every host of the fleet, one round trip each. A host that fails is data; the
/// error is for a missing asset.
[[nodiscard]] Result<Survey> take_census(transport::Fleet& fleet, const assets::Store& assets,
                                         Afterwards afterwards = Afterwards::keep_connection,
                                         Texts texts = Texts::kept, Reasons reasons = Reasons::skipped);

/// {host: facts} and {host: {error: …}}.
[[nodiscard]] base::Tree to_tree(const facts::Census& census);
/// The same as JSON, without a Tree of all hosts.
[[nodiscard]] std::string to_json(const facts::Census& census);

}  // namespace session
