#include "gpuadm/cluster/snapshot_file.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>

namespace cluster {

namespace {

using base::Fault;
using base::Result;
namespace fs = std::filesystem;

// Twice the maximum that etcd recommends (https://etcd.io/docs/v3.5/dev-guide/limit/): larger files are not
// etcd databases.
constexpr std::uintmax_t most = 16ULL << 30;
constexpr std::uintmax_t sum_size = 32, page = 512;  // a snapshot consists of pages and their SHA-256

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::unexpected<base::Error> damaged(const fs::path& file, const std::string& why) {
  return base::fail(Fault::blocked, fmt::format("{} is damaged: {}", file.string(), why),
                    "create another snapshot; nothing was changed");
}

}  // namespace

fs::path sum_file(const fs::path& file) {
  return file.string() + ".sha256";
}

Result<Snapshot> read_snapshot(std::string_view line) {
  const auto words = base::words(line);
  const auto number = [&](std::size_t i) { return base::to_int(words[i]).value_or(-1); };
  if (words.size() != 5 || !is_sha256(words[0]) || number(1) <= 0 || number(2) < 0 || number(3) < 0 ||
      number(4) < 0)
    return base::fail(Fault::parse, "unexpected answer about the snapshot: " + base::tail(line, 3));
  if (static_cast<std::uintmax_t>(number(1)) > most)
    return base::fail(
        Fault::remote,
        fmt::format("the snapshot is reported to have {}: etcd stores at most {}",
                    base::human_bytes(static_cast<std::uintmax_t>(number(1))), base::human_bytes(most)),
        "gpuadm etcd defrag; to find what fills it: kubectl get --raw /metrics | grep "
        "apiserver_storage_objects");
  return Snapshot{std::string(words[0]), static_cast<std::uintmax_t>(number(1)), number(2), number(3),
                  number(4)};
}

Result<std::string> check_snapshot(const fs::path& file) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  if (error)
    return base::fail(Fault::usage, fmt::format("cannot read {}: {}", file.string(), error.message()));
  std::string sum = TRY(base::sha256_of_file(file));
  if (fs::exists(sum_file(file), error)) {
    const std::string said = TRY(base::read_file(sum_file(file), 4096));
    if (said.substr(0, said.find(' ')) != sum)
      return damaged(file, fmt::format("its checksum does not match {}", sum_file(file).string()));
  }
  if (size % page != sum_size)
    return damaged(file, fmt::format("{} bytes are not a complete etcd snapshot", size));
  std::ifstream tail(file, std::ios::binary);
  std::string end(sum_size, '\0');
  tail.seekg(-static_cast<std::streamoff>(sum_size), std::ios::end);
  tail.read(end.data(), static_cast<std::streamsize>(end.size()));
  std::string hex;
  for (const char byte : end) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  if (TRY(base::sha256_of_file(file, size - sum_size)) != hex)
    return damaged(file, "its checksum does not match");
  return sum;
}

}  // namespace cluster
