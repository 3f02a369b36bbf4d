#include "checks/advisories.hpp"

#include "gpuadm/base/debian_version.hpp"

#include "checks/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

namespace checks {

namespace {

using base::Version;

constexpr std::array<std::string_view, 4> severities = {"critical", "high", "medium", "low"};

/// Components by the last part of their images' names.
struct ImageName {
  std::string_view image, component;
};
constexpr std::array image_names = {
    ImageName{"coredns", "coredns"},
    ImageName{"dcgm-exporter", "dcgm-exporter"},
    ImageName{"etcd", "etcd"},
    ImageName{"flannel", "flannel"},
    ImageName{"flannel-cni-plugin", "cni-plugins"},
    ImageName{"k8s-device-plugin", "device-plugin"},
    ImageName{"k8s-hub", "jupyterhub"},
    ImageName{"kube-apiserver", "kubernetes"},
    ImageName{"kube-controller-manager", "kubernetes"},
    ImageName{"kube-proxy", "kubernetes"},
    ImageName{"kube-scheduler", "kubernetes"},
};

struct Title {
  std::string_view component, text;
};
constexpr std::array titles = {
    Title{"cni-plugins", "the CNI plugins"},
    Title{"coredns", "CoreDNS"},
    Title{"dcgm-exporter", "NVIDIA's DCGM exporter"},
    Title{"device-plugin", "NVIDIA's device plugin"},
    Title{"driver", "the NVIDIA driver"},
    Title{"jupyterhub", "JupyterHub"},
    Title{"kubernetes", "Kubernetes"},
    Title{"toolkit", "the NVIDIA Container Toolkit"},
};

bool is_in(const Advisory& row, const Version& version) {
  const auto from = Version::parse(row.from), fixed = Version::parse(row.fixed);
  return (!from || version >= *from) && (!fixed || version < *fixed);
}

std::size_t rank(const Advisory& row) {
  return static_cast<std::size_t>(std::ranges::find(severities, row.severity) - severities.begin());
}

/// The row of the distribution's package for the same vulnerability, or nullptr.
const Advisory* row_of_package(const std::vector<Advisory>& rows, const Installed& installed,
                               const std::string& id) {
  const auto place = std::ranges::find_if(rows, [&](const Advisory& row) {
    return row.id == id && !row.package.empty() && row.package == installed.release;
  });
  return place == rows.end() ? nullptr : &*place;
}

}  // namespace

base::Result<Advisories> read_advisories(
    const std::function<base::Result<std::string>(std::string_view path)>& asset) {
  const std::string path = "data/advisories.csv";
  Advisories advisories;
  for (const auto& row : TRY(read_csv(
           TRY(asset(path)),
           {"component", "package", "from", "fixed", "severity", "id", "reach", "summary", "source", "seen"},
           path))) {
    const bool is_known = row[4].empty() || std::ranges::find(severities, row[4]) != severities.end();
    const bool has_versions = Version::parse(row[2]) && (row[3].empty() || Version::parse(row[3]));
    if (!is_known || !has_versions || row[5].empty() || (row[6] != "host" && !row[6].empty()))
      return base::fail(base::Fault::parse,
                        fmt::format("{}: {} {}: is not a valid row", path, row[0], row[5]));
    advisories[row[0]].push_back({row[1], row[2], row[3], row[4], row[5], row[7], row[6] == "host"});
  }
  return advisories;
}

Installed installed_program(const facts::Facts& facts, const std::string& program,
                            const std::string& version) {
  Installed installed{program, Version::parse(version).value_or(Version()), {}, {}};
  const auto package = facts.software.packages.find(program);
  if (package == facts.software.packages.end() || !package->second.installed ||
      !package->second.version.starts_with(version))
    return installed;
  installed.release = facts.os.parent_id + " " + facts.os.parent_version_id;
  installed.package_version = package->second.version;
  return installed;
}

Exposure exposure_of(const Advisories& advisories, const Installed& installed) {
  Exposure exposure;
  const auto place = advisories.find(installed.component);
  if (place == advisories.end()) return exposure;
  const std::vector<Advisory>& rows = place->second;
  const auto affects = [&](const Version& version) {
    return [&version](const Advisory& row) { return row.package.empty() && is_in(row, version); };
  };
  for (const Advisory& row : rows) {
    if (!affects(installed.version)(row)) continue;
    const Advisory* own = row_of_package(rows, installed, row.id);
    if (installed.release.empty())
      exposure.affecting.push_back(&row);
    else if (!own)
      exposure.undecided.push_back(row.id);
    else if (base::compare_debian_versions(installed.package_version, own->fixed) < 0)
      exposure.affecting.push_back(own);
  }
  std::ranges::stable_sort(exposure.affecting, {},
                           [](const Advisory* row) { return std::tuple(!row->reaches_host, rank(*row)); });
  std::set<Version> fixes;
  for (const Advisory& row : rows)
    if (const auto fixed = Version::parse(row.fixed); fixed && row.package.empty() &&
                                                      *fixed > installed.version &&
                                                      std::ranges::none_of(rows, affects(*fixed)))
      fixes.insert(*fixed);
  if (!fixes.empty() && installed.release.empty()) {
    for (const Advisory& row : rows)
      if (row.package.empty() && Version::parse(row.fixed) == *fixes.begin()) exposure.fixed = row.fixed;
  }
  return exposure;
}

Installed component_of(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const std::size_t slash = image.rfind('/');
  if (slash != std::string_view::npos) image.remove_prefix(slash + 1);
  const std::size_t colon = image.find(':');
  const std::string_view name = image.substr(0, colon);
  const auto row = std::ranges::find(image_names, name, &ImageName::image);
  if (row == image_names.end()) return {};
  std::string_view tag = colon == std::string_view::npos ? std::string_view() : image.substr(colon + 1);
  // The tag has the version of DCGM before that of the exporter: 4.6.0-4.8.3-distroless.
  if (row->component == "dcgm-exporter") {
    const std::size_t dash = tag.find('-');
    tag = dash == std::string_view::npos ? std::string_view() : tag.substr(dash + 1);
  }
  return {std::string(row->component), Version::parse(tag).value_or(Version()), {}, {}};
}

std::string_view title_of(std::string_view component) {
  const auto row = std::ranges::find(titles, component, &Title::component);
  return row == titles.end() ? component : row->text;
}

}  // namespace checks
