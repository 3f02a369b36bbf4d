#pragma once

#include "gpuadm/base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// All data that is not code: embedded files, the operator's overrides, bundles.
namespace assets {

using base::Result;

/// Playbooks, templates and data, by path ("templates/flannel.yaml"). Searched in --assets DIR,
/// $XDG_CONFIG_HOME/gpuadm/assets, /etc/gpuadm/assets, and the embedded files, in this order; whole files,
/// never merged, never in the current directory.
class Store {
 public:
  /// `directory`: --assets; empty for none. It must exist (Fault::usage).
  [[nodiscard]] static Result<Store> open(const std::filesystem::path& directory);
  /// The text of one asset. Fault::bug if it does not exist, because the path is from gpuadm itself.
  [[nodiscard]] Result<std::string> read(std::string_view path) const;
  /// The embedded text, regardless of overrides; nothing if gpuadm has no asset of that path.
  [[nodiscard]] static std::optional<std::string> shipped(std::string_view path);
  /// The same for an asset that gpuadm itself depends on: Fault::bug if it does not exist.
  [[nodiscard]] static Result<std::string> carried(std::string_view path);
  [[nodiscard]] std::vector<std::string> list(std::string_view prefix = {}) const;
  /// Where an asset comes from: "embedded" or a file's path.
  [[nodiscard]] std::string origin(std::string_view path) const;
  struct Override {
    std::string path, file, sha256;
  };
  [[nodiscard]] std::vector<Override> overrides() const;

 private:
  std::vector<std::filesystem::path> directories_;
};

}  // namespace assets
