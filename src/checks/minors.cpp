#include "checks/minors.hpp"

#include "gpuadm/base/text.hpp"

#include "checks/csv.hpp"

#include <fmt/format.h>

namespace checks {

namespace {

/// Nothing: an invalid cell.
std::optional<Minor> minor_in(const std::vector<std::string>& row) {
  const auto etcd = base::Version::parse(row[1]);
  const auto lag = base::to_int(row[4]);
  if (!etcd || !lag || *lag < 0 || *lag > 9) return std::nullopt;
  Minor minor{.etcd = *etcd, .kubelet_lag = static_cast<int>(*lag), .is_complete = row[8] == "complete"};
  if (!minor.is_complete && row[8] != "partial") return std::nullopt;
  for (const std::string_view word : base::words(row[5])) {
    const auto least = base::Version::parse(word);
    if (!least || (!minor.containerd.empty() && *least < minor.containerd.back())) return std::nullopt;
    minor.containerd.push_back(*least);
  }
  if (row[2].empty()) return row[3].empty() ? std::optional(minor) : std::nullopt;
  minor.etcd_before = base::Version::parse(row[2]);
  minor.is_strict = row[3] == "yes";
  return minor.etcd_before && (minor.is_strict || row[3] == "no") ? std::optional(minor) : std::nullopt;
}

}  // namespace

base::Result<Minors> read_minors(
    const std::function<base::Result<std::string>(std::string_view path)>& asset) {
  const std::string path = "data/kubernetes.csv";
  Minors minors;
  for (const auto& row : TRY(read_csv(TRY(asset(path)),
                                      {"minor", "etcd", "etcd_before", "strict", "kubelet_lag", "containerd",
                                       "coredns", "removed_apis", "gates", "source", "seen"},
                                      path))) {
    const auto version = base::Version::parse(row[0]);
    const auto minor = minor_in(row);
    const bool follows = version && version->patch < 0 &&
                         (minors.empty() || (version->major == minors.rbegin()->first.major &&
                                             version->minor == minors.rbegin()->first.minor + 1));
    if (!follows || !minor)
      return base::fail(base::Fault::parse, fmt::format("{}: {}: invalid row", path, row[0]));
    minors.emplace(*version, *minor);
  }
  if (minors.empty()) return base::fail(base::Fault::parse, path + ": has no row");
  return minors;
}

const Minor* minor_of(const Minors& minors, const base::Version& kubernetes) {
  const auto place = minors.find(base::Version{kubernetes.major, kubernetes.minor, -1});
  return place == minors.end() ? nullptr : &place->second;
}

int kubelet_lag(const Minors& minors, const base::Version& server) {
  auto next = minors.upper_bound(server);
  if (next != minors.begin()) --next;
  return next->second.kubelet_lag;
}

base::Version newest_complete(const Minors& minors) {
  base::Version newest;
  for (const auto& [version, minor] : minors)
    if (minor.is_complete) newest = version;
  return newest;
}

}  // namespace checks
