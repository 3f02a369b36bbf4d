#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/facts/redact.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace session {

using base::Result;

/// Input of the doctor without hosts: docs/reference/recordings.md.
struct ClusterSurvey {
  spec::Cluster cluster;
  Survey survey;
  std::optional<std::string> view;  ///< output of a control-plane node: docs/reference/cluster.md
};

/// Knows every name in a recording that must be replaced.
[[nodiscard]] facts::Redactor redactor_for(const ClusterSurvey& recording);

/// Writes a recording, with names of machines, networks and people replaced and secrets removed. Fault::usage
/// if the directory is not empty.
[[nodiscard]] Result<> save_recording(const std::filesystem::path& folder, const ClusterSurvey& recording,
                                      facts::Redactor redact);

/// The text of one file of a recording, by its path in it.
using ReadFile = std::function<Result<std::string>(const std::string& file)>;

/// Reads a recording from any source of files; `place` is its name in errors. `over` may have `cluster`,
/// merged into the cluster file, and `hosts`, merged into those of recording.yaml; the entries of a host
/// there edit its probe as facts::edited does. A fault of one host is in the census; faults of the recording,
/// and of `over`, are the error.
[[nodiscard]] Result<ClusterSurvey> read_recording(const ReadFile& read, const std::string& place,
                                                   const base::Tree& over = {}, Texts texts = Texts::dropped);

/// Reads a recording, or a directory with only a probe.txt: one host with the directory's name. Fault::usage
/// if it is neither.
[[nodiscard]] Result<ClusterSurvey> load_recording(const std::filesystem::path& folder,
                                                   Texts texts = Texts::dropped);

/// Learns the names in a cluster file: hosts, users, domains, and the servers that the cluster uses. Public
/// registries and repositories of packages keep their names, because findings depend on them.
void learn_names(const spec::Cluster& cluster, facts::Redactor& redact);

/// Learns the names of hosts and domains in the text of a facts.json. Text that is not JSON has none.
void learn_names_in_facts(std::string_view json, facts::Redactor& redact);

/// One survey of hosts and their cluster: the data of status.
struct StatusSurvey {
  ClusterSurvey survey;
  std::string asked;                  ///< the control-plane node that described the cluster; empty: none
  std::optional<base::Error> unread;  ///< why a reachable control-plane node did not describe it
};

/// One round trip to every host, and one more to the first control-plane node that can list the nodes, as
/// soon as it has answered, without waiting for other hosts. `seen.cluster` is the cluster. An error is for a
/// missing asset, or Ctrl-C; Fault::usage if all are reachable and none is a control-plane node. `known`:
/// facts that were read just before; only control-plane nodes and hosts without facts in it are read again.
[[nodiscard]] Result<StatusSurvey> survey_cluster(const spec::Cluster& cluster, transport::Fleet& fleet,
                                                  const assets::Store& assets,
                                                  const facts::Census* known = nullptr);

}  // namespace session
