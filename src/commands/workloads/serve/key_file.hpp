#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/secret.hpp"

#include "commands/workloads/reach.hpp"

#include <filesystem>
#include <string>

namespace commands {

/// The file with the API key of a served model on this machine, which only the operator may read.
[[nodiscard]] std::filesystem::path key_file_of(const NamedService& service, const std::string& cluster);
/// Writes it. Returns its path.
[[nodiscard]] Result<std::filesystem::path> write_key_file(const NamedService& service,
                                                           const std::string& cluster,
                                                           const base::Secret& key);

/// What a client must know of a server.
struct ServedApi {
  std::string api;     ///< "openai", "kserve"; empty: unknown
  std::string no_key;  ///< why it takes no API key; empty: it takes one
};
/// How a client uses a served model at an address such as "127.0.0.1:8000": lines for the operator, in which
/// the key is in no argument of a program.
[[nodiscard]] std::string usage_lines(const NamedService& service, const std::string& address,
                                      const std::filesystem::path& key_file, const ServedApi& api);

}  // namespace commands
