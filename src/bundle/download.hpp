#pragma once

#include "gpuadm/bundle/fetch.hpp"

namespace bundle {

/// Number of attempts for a server that drops the connection, or is busy, without progress.
inline constexpr int most_tries = 6;
/// Whether a status means "try again later".
[[nodiscard]] bool is_busy(long status);
/// Waits longer before each further attempt; not before attempt 0.
void wait_before(int attempt);

/// A requested download.
struct Fetcher::Download {
  std::string url;
  std::string scope;                 ///< registry and repository for the authorization; empty: none
  std::vector<std::string> headers;  ///< "Accept: …"
  std::string sha256;                ///< the expected checksum; empty: unknown
  std::uint64_t limit = 0;           ///< bytes
};

struct Fetcher::Answer {
  std::filesystem::path file;
  std::string sha256;
  std::uint64_t size = 0;
};

}  // namespace bundle
