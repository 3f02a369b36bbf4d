#pragma once

#include "gpuadm/assets/fetch.hpp"

namespace assets {

/// What is wanted.
struct Fetcher::Wish {
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

}  // namespace assets
