#pragma once

#include "gpuadm/plan/plan.hpp"
#include "gpuadm/session/run_playbook.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <map>
#include <string>
#include <vector>

/// Which Kubernetes is installed: a minor version becomes the newest patch that is offered.
namespace session {

/// What playbooks/versions.sh printed: patches of this minor in ascending order.
[[nodiscard]] std::vector<base::Version> read_offers(std::string_view text, const base::Version& minor);

/// Patches that the package repository offers, by host.
using Offers = std::map<std::string, std::vector<base::Version>>;
/// The version that all hosts install: `version`, or where it is assumed the newest patch that is offered to
/// every host. Fault::blocked where one does not offer it, with those that it offers.
[[nodiscard]] Result<base::Version> choose_offered(const playbook::ChosenVersion& version,
                                                   const Offers& offers, const std::string& repository);

/// What a version is settled from, once the hosts were read.
struct VersionSources {
  const spec::Cluster& cluster;
  const facts::Census& census;
  const assets::Store& assets;
  const playbook::Library& library;
  const bundle::Bundle* bundle = nullptr;
  const plan::Choice& choice;
};
struct SettledVersion {
  base::Version version;
  bool was_asked = false;  ///< repositories were: packages are to be installed
};
/// Asks the package repositories of those hosts on which chosen steps install Kubernetes; where none does,
/// the version is what was chosen and no repository is asked. Nothing is changed. Fault::blocked where a
/// repository does not answer as one, or does not offer the version.
[[nodiscard]] Result<SettledVersion> resolve_patch(const playbook::ChosenVersion& version,
                                                   const VersionSources& sources, transport::Fleet& fleet);

/// What a preview does not show by itself: the patch that was found, and a name that may be another one
/// later.
[[nodiscard]] std::vector<std::string> version_notes(const playbook::ChosenVersion& chosen,
                                                     const SettledVersion& resolved,
                                                     const VersionSources& sources);

}  // namespace session
