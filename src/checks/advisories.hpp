#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/version.hpp"
#include "gpuadm/facts/facts.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace checks {

/// A known vulnerability in a range of versions: a row of advisories.csv.
struct Advisory {
  std::string package;      ///< "debian 12": the versions are of its package; empty: of the developers
  std::string from, fixed;  ///< the first affected version, and the first one with the fix; empty: none yet
  std::string severity;     ///< "critical", "high", "medium", "low"; empty: unknown
  std::string id, summary;
  bool reaches_host = false;  ///< lets a container or an image act on the host
};

/// By component: "containerd", "runc", "driver", "toolkit", "kubernetes", or the component of an image.
using Advisories = std::map<std::string, std::vector<Advisory>>;
[[nodiscard]] base::Result<Advisories> read_advisories(
    const std::function<base::Result<std::string>(std::string_view path)>& asset);

/// A component at a version. `release` and `package_version`: of a package of a distribution, which may have
/// fixes under an old version; otherwise empty.
struct Installed {
  std::string component;
  base::Version version;
  std::string release, package_version;  ///< "debian 12", "1.1.5+ds1-1+deb12u1"
};

/// A program of a host at the version that it prints. It is of the distribution's package of the same name if
/// the package has that version.
[[nodiscard]] Installed installed_program(const facts::Facts& facts, const std::string& program,
                                          const std::string& version);

/// What is known of an installed component, the most severe first.
struct Exposure {
  std::vector<const Advisory*> affecting;
  std::vector<std::string> undecided;  ///< ids that the package may have a fix for, or not
  std::string fixed;  ///< the lowest newer version that nothing affects; empty: none is known
};
[[nodiscard]] Exposure exposure_of(const Advisories& advisories, const Installed& installed);

/// A component and its version by the reference of an image: "registry.k8s.io/coredns/coredns:v1.14.2". An
/// empty component: none of advisories.csv; major -1: the reference does not have its version.
[[nodiscard]] Installed component_of(std::string_view image);

/// "the NVIDIA driver"
[[nodiscard]] std::string_view title_of(std::string_view component);

}  // namespace checks
