#pragma once

#include "gpuadm/base/version.hpp"
#include "gpuadm/checks/checks.hpp"

#include "checks/advisories.hpp"
#include "checks/catalogue.hpp"
#include "checks/end_of_life.hpp"
#include "checks/minors.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace checks {

/// A GPU model: gpus.csv.
struct GpuModel {
  std::string name, architecture, compute_capability;
  std::optional<int> last_branch;  ///< nothing: still supported
  std::string flavor;              ///< "either", "open-only", "proprietary", or empty: unknown
  std::string kind;                ///< "datacenter", "workstation", "geforce" …
};

/// A driver branch: driver-branches.csv.
struct Branch {
  enum class Status { production, lts, new_feature, ended } status = Status::ended;
  std::optional<base::Day> ends;  ///< the last day with fixes; nothing: none is published
  std::string architectures;

  [[nodiscard]] bool is_maintained(base::Day day) const {
    return status != Status::ended && (!ends || day <= *ends);
  }
  /// "long-term support until 2028-06-30"
  [[nodiscard]] std::string text() const;
};

/// A CUDA major version and the lowest driver that runs its images by minor-version compatibility:
/// cuda-compat-rules.csv.
struct CudaMajor {
  int major = 0;
  base::Version driver;
  std::string text;  ///< the same as written
};

/// The Kubernetes versions in which a feature gate changed its stage: feature-gates.csv.
struct Gate {
  std::optional<base::Version> alpha, beta, stable, deprecated, on, locked, removed;
  /// The first minor version with it.
  [[nodiscard]] std::optional<base::Version> first() const;
};

/// A flag of the kubelet: kubelet-flags.csv.
struct Flag {
  std::optional<base::Version> since, deprecated, removed;
  std::string note;
};

/// Meaning of an Xid or an SXid: xid.csv, sxid.csv.
struct XidKind {
  std::string name, action;
  std::string severity;  ///< of an Xid: "error", "warn", "info"; of an SXid: "error" if always fatal
};

/// A size of MIG instance: mig-profiles.csv.
struct MigProfile {
  int compute = 0, memory = 0, most = 0;  ///< slices of the GPU; maximum number of instances
  std::vector<int> places;                ///< memory slices at which it may begin
};

/// Possible MIG instances of a GPU type.
struct MigGpu {
  std::string name;
  std::map<std::string, MigProfile> profiles;
};

struct Data {
  base::Day today;  ///< on which ends of support are evaluated
  Catalogue catalogue;
  Advisories advisories;
  std::map<std::string, Lines> lines;    ///< by component
  std::map<std::string, GpuModel> gpus;  ///< "2335" and "2335/10de:18bf"
  std::map<int, Branch> branches;
  std::vector<CudaMajor> cuda_majors;  ///< ascending
  std::map<std::string, Gate> gates;
  std::map<std::string, Flag> flags;
  std::map<int, XidKind> xids, sxids;
  std::map<std::string, MigGpu> migs;       ///< by PCI device id
  std::optional<base::Version> kubernetes;  ///< the default version; playbooks/catalog.yaml
  Minors minors;                            ///< the known minor versions of Kubernetes
  std::map<base::Version, std::string>
      pause_images;  ///< by the first Kubernetes minor; playbooks/catalog.yaml

  /// The model of a device, by subsystem if it is known.
  [[nodiscard]] const GpuModel* find_gpu(const std::string& device, const std::string& subsystem) const;
};

/// "535.54.03" is branch 535.
[[nodiscard]] std::optional<int> branch_of(const std::string& driver_version);

}  // namespace checks
