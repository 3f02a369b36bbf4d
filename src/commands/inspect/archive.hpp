#pragma once

#include "gpuadm/facts/redact.hpp"

#include "commands/command.hpp"

#include <string_view>

namespace commands {

/// A directory that becomes an archive: files are written into a temporary directory, which the destructor
/// removes.
class Archive {
 public:
  /// `name`: the top-level directory of the archive.
  [[nodiscard]] static Result<Archive> make(std::string name);
  Archive(Archive&& other) noexcept
      : parent_(std::exchange(other.parent_, {})), name_(std::move(other.name_)) {}
  Archive& operator=(Archive&&) = delete;
  ~Archive();

  /// The temporary directory.
  [[nodiscard]] std::filesystem::path folder() const { return parent_ / name_; }
  /// `path` is below folder().
  [[nodiscard]] Result<> add(const std::filesystem::path& path, std::string_view text) const;
  /// Writes the sections of an answer, one file each below `path`: "journal/kubelet" is journal/kubelet.txt.
  /// Names come from the host: duplicates get a number, and invalid names are skipped. Returns the number of
  /// skipped sections, including those above most_sections.
  [[nodiscard]] std::size_t add_sections(const std::filesystem::path& path, std::string_view answer) const;
  /// Limit for one host; a host with a hundred pods has about three hundred.
  static constexpr std::size_t most_sections = 2000;
  /// Lines "hosts/host1/journal  3 files  120 KiB" for directories up to three levels deep; other files by
  /// their names.
  [[nodiscard]] std::string contents() const;
  /// Creates the .tar.gz (0600) with this machine's tar, without user names. Fault::usage if that fails.
  [[nodiscard]] Result<> pack(const std::filesystem::path& file) const;

 private:
  Archive(std::filesystem::path parent, std::string name)
      : parent_(std::move(parent)), name_(std::move(name)) {}
  std::filesystem::path parent_;
  std::string name_;
};

}  // namespace commands
