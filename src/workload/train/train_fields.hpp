#pragma once

#include "gpuadm/workload/train_import.hpp"

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

namespace workload {

/// Reads fields of a manifest, and reports those that were not used.
class TrainFields {
 public:
  TrainFields(const base::Tree& map, std::string path, std::string_view source, TrainImport& into)
      : map_(&map), path_(std::move(path)), source_(source), into_(into) {}

  /// The value, which counts as used; nullptr if it is missing or null.
  const base::Tree* use(std::string_view key);
  [[nodiscard]] std::string text(std::string_view key, const std::string& otherwise = "");
  /// A number above zero; otherwise a problem.
  [[nodiscard]] long long number(std::string_view key, long long otherwise);
  /// A number of at least zero; otherwise a problem.
  [[nodiscard]] long long count(std::string_view key, long long otherwise);
  [[nodiscard]] bool flag(std::string_view key);
  /// The fields below a key; of an empty map if it is missing.
  [[nodiscard]] TrainFields below(std::string_view key);
  /// A field that has no effect, or another one.
  void note(std::string_view key, std::string_view message);
  /// A note of the map itself.
  void remark(std::string_view message);
  /// A note of a value somewhere below the map.
  void remark(const base::Tree& at, std::string_view path, std::string_view message);
  /// A field that is not possible.
  void refuse(std::string_view key, std::string_view why);
  /// A problem of the map itself.
  void problem(std::string_view why);
  /// A problem of a value somewhere below the map.
  void problem(const base::Tree& at, std::string_view path, std::string_view why);
  /// The fields of another map of the same manifest.
  [[nodiscard]] TrainFields of(const base::Tree& map) const { return {map, path_, source_, into_}; }
  /// The same with another path.
  [[nodiscard]] TrainFields of(const base::Tree& map, std::string path) const {
    return {map, std::move(path), source_, into_};
  }
  /// Reports each field that was not used as a problem.
  void end();
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const base::Tree& map() const { return *map_; }

 private:
  [[nodiscard]] long long from(long long lowest, std::string_view key, long long otherwise);
  [[nodiscard]] std::string line(const base::Tree& at, std::string_view key, std::string_view message) const;
  const base::Tree* map_;
  std::string path_;
  std::string_view source_;
  TrainImport& into_;
  std::set<std::string, std::less<>> used_;
};

/// A role of a manifest.
struct RoleOptions {
  std::string name;
  long long replicas = 1;
  std::string image;                ///< replaces that of its container; empty: of the manifest
  std::string_view container = "";  ///< name of the container that trains; otherwise the first one
};
/// A pod template of a role, below `fields`. Other containers become sidecars of the job.
[[nodiscard]] Role role_from(TrainFields fields, const RoleOptions& options, TrainJob& job);
/// spec.runPolicy, and the same fields of a Job.
void read_run_policy(TrainFields& fields, TrainJob& job);
/// Merges roles with the same pod, which one Indexed Job can run.
void merge_equal_roles(TrainJob& job);
/// Of "auto", "gpu" (0: one for each GPU), or a number.
[[nodiscard]] int processes_of(TrainFields& fields, std::string_view key);
/// The first container of a role, which trains; nullptr: it has none.
[[nodiscard]] base::Tree* main_container(Role& role);
/// Adds a variable to the container of each rank that does not have it.
void add_variable(TrainJob& job, const std::string& name, const std::string& value);

/// What ends a rank that has failed, as the notes of a manifest say it.
inline constexpr std::string_view failure_note =
    "a rank that fails ends the job; gpuadm train resume starts all ranks again";

}  // namespace workload
