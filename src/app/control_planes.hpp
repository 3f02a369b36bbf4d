#pragma once

#include "app/conduct.hpp"

namespace app {

/// A cluster as its hosts are: roles by what stands on them, and whichever version it has. A host that was
/// only named on the command line says nothing of itself.
[[nodiscard]] spec::Cluster as_found(spec::Cluster cluster, const facts::Census& census);

/// Its control planes, in its order. Fault::usage where there is none.
[[nodiscard]] Result<std::vector<std::string>> control_planes(const spec::Cluster& cluster,
                                                              const facts::Census& census);

/// What a playbook does to control planes, and with what.
struct OneByOne {
  const spec::Cluster& cluster;  ///< as_found
  const assets::Store& assets;
  const playbook::Library& library;
  const assets::Bundle* bundle = nullptr;
  plan::Choice choice;
  Consent consent = Consent::ask;
};

/// Runs the playbook on these hosts, one after the other: a host begins when the one before it has ended
/// well. They are locked together.
[[nodiscard]] Result<Outcome> conduct_one_by_one(const OneByOne& what, const Seen& seen,
                                                 const std::vector<std::string>& hosts, const Visit& visit,
                                                 report::Reporter& reporter, Io& io);

}  // namespace app
