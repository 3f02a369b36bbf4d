#pragma once

#include "gpuadm/plan/plan.hpp"
#include "gpuadm/session/run_playbook.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <map>
#include <string>
#include <vector>

/// Resolves the Kubernetes version to install: a minor version becomes its newest available patch release.
namespace session {

/// Parses the output of playbooks/versions.sh: patches of this minor in ascending order.
[[nodiscard]] std::vector<base::Version> read_offers(std::string_view text, const base::Version& minor);

/// Patches in the package repository, by host.
using Offers = std::map<std::string, std::vector<base::Version>>;
/// The version that all hosts install: `version`, or if it is assumed, the newest patch that is available to
/// all hosts. Fault::blocked if it is not available to a host, with the available ones.
[[nodiscard]] Result<base::Version> choose_offered(const playbook::ChosenVersion& version,
                                                   const Offers& offers, const std::string& repository);

/// Inputs for resolving a version, after the hosts were read.
struct VersionSources {
  const spec::Cluster& cluster;
  const spec::Decisions& decisions;  ///< with the chosen version
  const facts::Census& census;
  const assets::Store& assets;
  const playbook::Library& library;
  const bundle::Bundle* bundle = nullptr;
  const plan::Choice& choice;
};
struct SettledVersion {
  base::Version version;
  bool was_asked = false;  ///< repositories were queried: packages are to be installed
};
/// Queries the package repositories of the hosts on which selected steps install Kubernetes; if there are
/// none, returns the selected version without a query. Changes nothing. Fault::blocked if a repository's
/// response is invalid, or does not contain the version.
[[nodiscard]] Result<SettledVersion> resolve_patch(const playbook::ChosenVersion& version,
                                                   const VersionSources& sources, transport::Fleet& fleet);

/// Notes for the preview: the resolved patch version, and an image name that may change later.
[[nodiscard]] std::vector<std::string> version_notes(const playbook::ChosenVersion& chosen,
                                                     const SettledVersion& resolved,
                                                     const VersionSources& sources);

}  // namespace session
