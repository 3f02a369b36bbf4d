#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/error.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/session/options.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <functional>
#include <map>
#include <string>

namespace session {

using base::Result;

/// Whether a fault means that the connection, login or host-key check failed, or that it timed out.
[[nodiscard]] bool is_unreachable(base::Fault fault);

/// Facts of the hosts, and the text that they were parsed from (absent if there is none).
struct Survey {
  facts::Census census;
  std::map<std::string, std::string> probes;
  /// No host answered, because none was reachable, accepted the login, or had a trusted key.
  [[nodiscard]] bool none_reached() const;
};

/// A read-only script ("playbooks/probe.sh") as it is sent: as script_of.
[[nodiscard]] Result<std::string> reading_script(const assets::Store& assets, std::string_view path);

/// Whether a node is also checked for why something is not running (playbooks/reasons.sh), and asked for the
/// health of its control plane's components.
enum class Reasons { skipped, read };

/// The command that reads the facts of one host. `cluster`: whose storage it also looks at; nullptr: none.
[[nodiscard]] Result<transport::Command> probe_command(const assets::Store& assets,
                                                       Reasons reasons = Reasons::skipped,
                                                       const spec::Cluster* cluster = nullptr);
/// The facts in its output. Fault::remote or parse if there are none.
[[nodiscard]] Result<facts::Facts> read_probe(const std::string& host, const transport::Exit& exit,
                                              base::Time answered);

/// Whether a host is still needed after its answer; a closed connection is opened again by the next command.
enum class Afterwards { keep_connection, keep_to_control_planes, close_connection };

/// Whether the probes' texts are kept in addition to the facts.
enum class Texts { kept, dropped };

/// Runs playbooks/probe.sh on every host of the fleet, one round trip each. A failed host is data; the error
/// is for a missing asset.
[[nodiscard]] Result<Survey> take_census(transport::Fleet& fleet, const assets::Store& assets,
                                         Afterwards afterwards = Afterwards::keep_connection,
                                         Texts texts = Texts::kept, Reasons reasons = Reasons::skipped,
                                         const spec::Cluster* cluster = nullptr);

/// One error that names every host without facts, of those that are `needed`; empty: all.
[[nodiscard]] Result<> all_read(const facts::Census& census,
                                const std::function<bool(const std::string& host)>& needed = {});

/// {host: facts} and {host: {error: …}}.
[[nodiscard]] base::Tree to_tree(const facts::Census& census);
/// The same as JSON, without a Tree of all hosts.
[[nodiscard]] std::string to_json(const facts::Census& census);
/// The same, a host at a time.
void write_json(const facts::Census& census, const base::Sink& write);

enum class Shown { printable, raw };

/// Runs one command on every host of the fleet. Text: each host's lines when its command has ended, `host|
/// text`, with stderr on io.err, and a summary there if something failed; JSON: one object at the end.
/// Outcome::failed if a status is not 0 or a host is unreachable, ::unreachable if all are.
[[nodiscard]] Result<Outcome> run_on_all(const transport::Command& command, transport::Fleet& fleet,
                                         Format format, Shown shown, Io& io);

/// The lines of a text, each with a label; made printable, or unchanged.
[[nodiscard]] std::string labelled(std::string_view text, std::string_view label, Shown shown);

/// Fault::blocked if a certificate that a node needs has expired by its host's own clock: a control plane's,
/// or a kubelet's. Otherwise the run would fail at the first access to the API server.
[[nodiscard]] base::Result<> refuse_expired(const facts::Census& census);

}  // namespace session
