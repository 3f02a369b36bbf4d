#pragma once

#include "gpuadm/bundle/fetch.hpp"

namespace bundle {

/// How often a server is asked that drops the connection, or is busy, and does not go on.
inline constexpr int most_tries = 6;
/// Whether an answer says "later".
[[nodiscard]] bool is_busy(long status);
/// Longer before each further attempt; attempt 0 waits for nothing.
void wait_before(int attempt);

/// What is wanted.
struct Fetcher::Download {
  std::string url;
  std::string scope;  ///< registry and repository, whose authorization goes with it; empty: none
  std::vector<std::string> headers;  ///< "Accept: …"
  std::string sha256;                ///< what it must have; empty: not known
  std::uint64_t limit = 0;           ///< bytes
};

struct Fetcher::Answer {
  std::filesystem::path file;
  std::string sha256;
  std::uint64_t size = 0;
};

}  // namespace bundle
