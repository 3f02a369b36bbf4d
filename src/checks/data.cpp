#include "checks/data.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"

#include "checks/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using base::Result;
using base::Version;
using Asset = std::function<Result<std::string>(std::string_view path)>;
using Rows = std::vector<std::vector<std::string>>;

struct BranchStatus {
  std::string_view name, text;
  Branch::Status status;
};
constexpr std::array branch_statuses = {
    BranchStatus{"production", "production", Branch::Status::production},
    BranchStatus{"lts", "long-term support", Branch::Status::lts},
    BranchStatus{"new-feature", "new features", Branch::Status::new_feature},
    BranchStatus{"ended", "ended", Branch::Status::ended},
};

Result<Rows> rows_of(const Asset& asset, const std::string& path, const std::vector<std::string>& header) {
  const std::string text = TRY(asset(path));
  return read_csv(text, header, path);
}

std::unexpected<base::Error> bad_row(const std::string& path, const std::string& key, std::string_view what) {
  return base::fail(base::Fault::parse, fmt::format("{}: {}: {}", path, key, what));
}

/// An empty cell means nothing; anything else must be a version.
Result<std::optional<Version>> minor_of(const std::string& path, const std::string& key,
                                        const std::string& cell) {
  if (cell.empty()) return std::optional<Version>();
  const auto version = Version::parse(cell);
  if (!version || version->minor < 0) return bad_row(path, key, fmt::format("'{}' is not a version", cell));
  return version;
}

Result<> read_gpus(const Asset& asset, Data& data) {
  const std::string path = "data/gpus.csv";
  const Rows rows = TRY(rows_of(asset, path,
                                {"pci_device_id", "subsystem_vendor:device", "product_name", "pci_ids_name",
                                 "chip", "architecture", "compute_capability", "class", "last_driver_branch",
                                 "kernel_module_flavor", "first_open_driver_listing", "source", "seen"}));
  for (const auto& row : rows) {
    const std::string key = row[1].empty() ? row[0] : row[0] + "/" + row[1];
    GpuModel model{.name = row[2],
                   .architecture = row[5],
                   .compute_capability = row[6],
                   .flavor = row[9],
                   .kind = row[7]};
    model.last_branch = branch_of(row[8]);
    if (!row[8].empty() && !model.last_branch)
      return bad_row(path, key, "last_driver_branch is not a number");
    if (!data.gpus.emplace(key, std::move(model)).second) return bad_row(path, key, "duplicate");
  }
  return {};
}

Result<> read_branches(const Asset& asset, Data& data) {
  const std::string path = "data/driver-branches.csv";
  const Rows rows = TRY(rows_of(asset, path,
                                {"branch", "status", "ends", "architectures_supported", "min_cuda",
                                 "max_cuda", "kernel_modules", "notes", "source", "seen"}));
  for (const auto& row : rows) {
    const auto branch = branch_of(row[0]);
    const auto status = std::ranges::find(branch_statuses, row[1], &BranchStatus::name);
    const auto ends = base::parse_day(row[2]);
    if (!branch) return bad_row(path, row[0], "is not a driver branch");
    if (status == branch_statuses.end()) return bad_row(path, row[0], "has an unknown status");
    if (!ends && !row[2].empty()) return bad_row(path, row[0], "ends is not a date");
    data.branches.emplace(*branch, Branch{status->status, ends, row[3]});
  }
  return {};
}

/// The rows `minor-version,12.x,>=525.60.13,…`.
Result<> read_compatibility(const Asset& asset, Data& data) {
  const std::string path = "data/cuda-compat-rules.csv";
  for (const auto& row :
       TRY(rows_of(asset, path, {"rule", "applies_to", "requirement", "notes", "source", "seen"}))) {
    if (row[0] != "minor-version" || !row[2].starts_with(">=")) continue;
    const auto major = base::to_int(row[1].substr(0, row[1].find('.')));
    const auto driver = Version::parse(std::string_view(row[2]).substr(2));
    if (!major || !driver) return bad_row(path, row[1], "is not a valid rule");
    data.cuda_majors.push_back({static_cast<int>(*major), *driver, row[2].substr(2)});
  }
  std::ranges::sort(data.cuda_majors, {}, &CudaMajor::major);
  return {};
}

Result<> read_gates(const Asset& asset, Data& data) {
  const std::string path = "data/feature-gates.csv";
  const Rows rows = TRY(rows_of(
      asset, path,
      {"gate", "alpha", "beta", "stable", "deprecated", "on", "locked", "removed", "source", "seen"}));
  for (const auto& row : rows) {
    Gate gate;
    std::size_t column = 1;
    for (auto* field :
         {&gate.alpha, &gate.beta, &gate.stable, &gate.deprecated, &gate.on, &gate.locked, &gate.removed})
      *field = TRY(minor_of(path, row[0], row[column++]));
    if (!data.gates.emplace(row[0], gate).second) return bad_row(path, row[0], "duplicate");
  }
  return {};
}

Result<> read_flags(const Asset& asset, Data& data) {
  const std::string path = "data/kubelet-flags.csv";
  for (const auto& row :
       TRY(rows_of(asset, path, {"flag", "since", "deprecated", "removed", "note", "source", "seen"}))) {
    Flag flag{.note = row[4]};
    flag.since = TRY(minor_of(path, row[0], row[1]));
    flag.deprecated = TRY(minor_of(path, row[0], row[2]));
    flag.removed = TRY(minor_of(path, row[0], row[3]));
    if (!data.flags.emplace(row[0], std::move(flag)).second) return bad_row(path, row[0], "duplicate");
  }
  return {};
}

Result<> read_xids(const Asset& asset, Data& data) {
  const auto read = [&](const std::string& path, const std::vector<std::string>& header,
                        std::map<int, XidKind>& into,
                        XidKind (*kind)(const std::vector<std::string>&)) -> Result<> {
    for (const auto& row : TRY(rows_of(asset, path, header))) {
      const auto code = base::to_int(row[0]);
      if (!code || *code < 0 || *code > 99999) return bad_row(path, row[0], "is not an Xid number");
      if (!into.emplace(static_cast<int>(*code), kind(row)).second) return bad_row(path, row[0], "duplicate");
    }
    return {};
  };
  TRY(read("data/xid.csv", {"xid", "name", "mnemonic", "severity", "action", "notes", "source", "seen"},
           data.xids, [](const std::vector<std::string>& row) { return XidKind{row[1], row[4], row[3]}; }));
  return read("data/sxid.csv", {"sxid", "name", "always_fatal", "action", "source", "seen"}, data.sxids,
              [](const std::vector<std::string>& row) {
                return XidKind{row[1], row[3], row[2] == "true" ? "error" : "warn"};
              });
}

Result<> read_mig(const Asset& asset, Data& data) {
  const std::string path = "data/mig-profiles.csv";
  for (const auto& row : TRY(rows_of(asset, path,
                                     {"gpu", "devices", "profile", "compute_slices", "memory_slices", "most",
                                      "places", "source", "seen"}))) {
    MigProfile profile;
    std::size_t column = 3;
    for (int* field : {&profile.compute, &profile.memory, &profile.most}) {
      const auto number = base::to_int(row[column++]);
      if (!number || *number < 1 || *number > 8) return bad_row(path, row[2], "a number of slices is wrong");
      *field = static_cast<int>(*number);
    }
    for (const std::string_view place : base::words(row[6])) {
      const auto number = base::to_int(place);
      if (!number || *number < 0 || *number > 7) return bad_row(path, row[2], "a place is wrong");
      profile.places.push_back(static_cast<int>(*number));
    }
    for (const std::string_view device : base::words(row[1])) {
      MigGpu& gpu = data.migs[std::string(device)];
      gpu.name = row[0];
      if (!gpu.profiles.emplace(row[2], profile).second) return bad_row(path, row[2], "duplicate");
    }
  }
  return {};
}

Result<> read_catalog(const Asset& asset, Data& data) {
  const std::string path = "playbooks/catalog.yaml";
  const base::Tree catalog = TRY(base::yaml::read(TRY(asset(path)), path));
  if (const base::Tree* version = catalog.at({"defaults", "kubernetes"}))
    data.kubernetes = Version::parse(version->text());
  const base::Tree* minors = catalog.find("perKubernetes");
  if (!minors) return bad_row(path, "perKubernetes", "is missing");
  for (const auto& [minor, values] : minors->entries()) {
    const auto version = Version::parse(minor);
    if (!version) return bad_row(path, minor, "is not a Kubernetes minor version");
    if (const base::Tree* image = values.find("pause_image")) data.pause_images[*version] = image->text();
  }
  return {};
}

}  // namespace

std::string Branch::text() const {
  const auto row = std::ranges::find(branch_statuses, status, &BranchStatus::status);
  if (!ends) return std::string(row->text);
  return fmt::format("{} {} {}", row->text, status == Status::ended ? "on" : "until", base::day_text(*ends));
}

std::optional<Version> Gate::first() const {
  std::optional<Version> lowest;
  for (const auto& version : {alpha, beta, stable, deprecated})
    if (version && (!lowest || *version < *lowest)) lowest = version;
  return lowest;
}

const GpuModel* Data::find_gpu(const std::string& device, const std::string& subsystem) const {
  for (const std::string& key : {device + "/" + subsystem, device})
    if (const auto place = gpus.find(key); place != gpus.end()) return &place->second;
  return nullptr;
}

std::optional<int> branch_of(const std::string& driver_version) {
  const auto version = Version::parse(driver_version);
  return version ? std::optional(version->major) : std::nullopt;
}

Result<std::shared_ptr<const Data>> read_data(const Asset& asset, base::Day today) {
  auto data = std::make_shared<Data>();
  data->today = today;
  for (const auto read : {read_gpus, read_branches, read_compatibility, read_gates, read_flags, read_xids,
                          read_mig, read_catalog})
    TRY(read(asset, *data));
  data->catalogue = TRY(read_catalogue(asset));
  data->advisories = TRY(read_advisories(asset));
  data->lines = TRY(read_lines(asset));
  data->minors = TRY(read_minors(asset));
  return data;
}

}  // namespace checks
