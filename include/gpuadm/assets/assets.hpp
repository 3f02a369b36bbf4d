#pragma once

#include "gpuadm/base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Every byte that is not code: embedded files, the operator's overrides, bundles.
namespace assets {

using base::Result;

/// Playbooks, templates and data, by path ("templates/flannel.yaml"). Looked up in --assets DIR, then
/// $XDG_CONFIG_HOME/gpuadm/assets, /etc/gpuadm/assets, embedded; whole files, never merged, never the current
/// directory.
class Store {
 public:
  /// `directory`: --assets; empty for none. It must exist (Fault::usage).
  [[nodiscard]] static Result<Store> open(const std::filesystem::path& directory);
  /// The text of one asset. Fault::bug where there is none: the path is ours.
  [[nodiscard]] Result<std::string> read(std::string_view path) const;
  /// The embedded text, whatever overrides it; nothing where gpuadm carries none of that path.
  [[nodiscard]] static std::optional<std::string> shipped(std::string_view path);
  /// The same for an asset that gpuadm itself depends on: Fault::bug where there is none.
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
