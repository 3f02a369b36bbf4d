#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/report/finding.hpp"
#include "gpuadm/session/options.hpp"
#include "gpuadm/spec/decisions.hpp"

#include <filesystem>
#include <span>
#include <string_view>

namespace session {

/// ~/.local/state/gpuadm/<cluster>/<time>/ (0700): the intermediate data of a run, as files (0600), for
/// tests, bug reports and audits.
class RunFolder {
 public:
  [[nodiscard]] static Result<RunFolder> make(std::string_view cluster);
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// `name` ends in .json or .yaml, which selects the format.
  [[nodiscard]] Result<> save(std::string_view name, const base::Tree& tree) const;
  /// cluster.yaml, facts.json and findings.json of one survey.
  [[nodiscard]] Result<> save_results(const spec::Cluster& cluster, const facts::Census& census,
                                      std::span<const report::Finding> findings) const;
  /// decisions.json, and cluster.yaml completed with them.
  [[nodiscard]] Result<> save_decisions(const spec::Cluster& cluster, const spec::Decisions& decisions) const;
  /// The same for serialized text.
  [[nodiscard]] Result<> save_text(std::string_view name, std::string_view text) const;

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace session
