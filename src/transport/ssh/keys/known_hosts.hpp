#pragma once

#include "gpuadm/base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace transport {

/// OpenSSH's known_hosts files (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT): plain, wildcard and hashed names,
/// [host]:port, @revoked, @cert-authority. Every file is read once.
class KnownHosts {
 public:
  enum class Mark { none, revoked, authority };
  struct Entry {
    std::string file;
    int line = 0;  ///< 0: accepted in this run
    Mark mark = Mark::none;
    std::string type, blob;
    std::vector<std::string> names;  ///< empty if hashed
    std::string salt, hash;          ///< of a hashed name
  };
  enum class Hash { yes, no };

  /// Reads files that were not read yet; missing ones are skipped.
  void read(const std::vector<std::string>& files);
  /// All entries for a name in the given files.
  [[nodiscard]] std::vector<const Entry*> find(const std::string& name,
                                               const std::vector<std::string>& files) const;
  /// Appends a key to a file and to the known entries. Fault::spec if the file cannot be written; the key is
  /// known in this run anyway.
  [[nodiscard]] base::Result<> add(const std::string& name, const std::string& type, const std::string& blob,
                                   const std::string& file, Hash hash);

 private:
  void keep(Entry entry);
  std::set<std::string> read_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::unordered_map<std::string, std::vector<const Entry*>> plain_;
  std::vector<const Entry*> searched_;  ///< wildcards and hashes
};

/// "host", or "[host]:port" if the port is not 22.
[[nodiscard]] std::string known_name(const std::string& host, std::uint16_t port);

}  // namespace transport
