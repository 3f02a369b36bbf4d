#pragma once

#include "gpuadm/base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace transport {

/// OpenSSH's known_hosts files (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT): plain, wildcard and hashed names,
/// [host]:port, @revoked, @cert-authority. Every file is read once.
class KnownHosts {
 public:
  /// `damaged`: a line without a mark that names the host, but holds no key that is known here. OpenSSH skips
  /// such lines if it does not know the key either.
  enum class Mark { none, revoked, authority, damaged };
  struct Entry {
    std::string file;
    int line = 0;  ///< 0: accepted in this run
    Mark mark = Mark::none;
    std::string type, blob;          ///< that of the key, whatever name precedes it in the line
    std::vector<std::string> names;  ///< empty if hashed
    std::string salt, hash;          ///< of a hashed name; `hash` in base64
  };
  enum class Hash { yes, no };

  /// Reads files that were not read yet; missing ones are skipped.
  void read(const std::vector<std::string>& files);
  /// Why the first of these files that exists and could not be read, could not. Empty: all were read.
  [[nodiscard]] std::string unread(const std::vector<std::string>& files) const;
  /// All entries for a name in the given files.
  [[nodiscard]] std::vector<const Entry*> find(const std::string& name,
                                               const std::vector<std::string>& files) const;
  /// Appends a key to a file and to the known entries. Fault::spec if the file cannot be written; the key is
  /// known in this run anyway.
  [[nodiscard]] base::Result<> add(const std::string& name, const std::string& type, const std::string& blob,
                                   const std::string& file, Hash hash);

 private:
  void keep(Entry entry);
  std::map<std::string, std::string> read_;  ///< why not; empty if a file was read or is missing
  std::vector<std::unique_ptr<Entry>> entries_;
  std::unordered_map<std::string, std::vector<const Entry*>> plain_;
  std::vector<const Entry*> searched_;  ///< wildcards and hashes
};

/// "host", or "[host]:port" if the port is not 22.
[[nodiscard]] std::string known_name(const std::string& host, std::uint16_t port);

}  // namespace transport
