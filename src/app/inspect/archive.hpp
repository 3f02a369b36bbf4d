#pragma once

#include "gpuadm/app/app.hpp"
#include "gpuadm/facts/redact.hpp"

#include <string_view>

namespace app {

/// A folder that becomes an archive: files are written into a temporary folder of our own, which goes when
/// this does.
class Archive {
 public:
  /// `name`: the folder that the archive holds.
  [[nodiscard]] static Result<Archive> make(std::string name);
  Archive(Archive&& other) noexcept
      : parent_(std::exchange(other.parent_, {})), name_(std::move(other.name_)) {}
  Archive& operator=(Archive&&) = delete;
  ~Archive();

  /// Where its files lie until it is packed.
  [[nodiscard]] std::filesystem::path folder() const { return parent_ / name_; }
  /// `path` is below folder().
  [[nodiscard]] Result<> add(const std::filesystem::path& path, std::string_view text) const;
  /// The sections of an answer, one file each below `path`: "journal/kubelet" is journal/kubelet.txt. A host
  /// makes the names, so a name that comes twice gets a number, and a section that cannot be written is left
  /// out. Gives how many were left out: those, and what is over most_sections.
  [[nodiscard]] std::size_t add_sections(const std::filesystem::path& path, std::string_view answer) const;
  /// Of one host; a host with a hundred pods has about three hundred.
  static constexpr std::size_t most_sections = 2000;
  /// "hosts/host1/journal  3 files  120 KiB" a line, all folders at most three deep; what lies beside them by
  /// its name.
  [[nodiscard]] std::string contents() const;
  /// The .tar.gz (0600) by this machine's tar, with nobody's name in it. Fault::usage where that fails.
  [[nodiscard]] Result<> pack(const std::filesystem::path& file) const;

 private:
  Archive(std::filesystem::path parent, std::string name)
      : parent_(std::move(parent)), name_(std::move(name)) {}
  std::filesystem::path parent_;
  std::string name_;
};

}  // namespace app
