#include "gpuadm/base/files.hpp"
#include "gpuadm/cluster/snapshot_file.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>

namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = [] {
    std::string name = (fs::temp_directory_path() / "gpuadm-XXXXXX").string();
    return fs::path(::mkdtemp(name.data()));
  }();
  Folder() = default;
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path); }
};

/// Pages, then the SHA-256 of them.
std::string whole() {
  std::string bytes(1024, 'p');
  const std::string hex = base::sha256(bytes);
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

base::Result<std::string> checked(const std::string& bytes, const std::string& sum = {}) {
  const Folder folder;
  const fs::path file = folder.path / "s.db";
  REQUIRE(base::write_file(file, bytes));
  if (!sum.empty()) REQUIRE(base::write_file(folder.path / "s.db.sha256", sum));
  return cluster::check_snapshot(file);
}

}  // namespace

TEST_CASE("what a host says of its snapshot is bounded") {
  const std::string sum(64, 'a');
  CHECK(cluster::read_snapshot(sum + " 1056 1 2 3"));
  CHECK(cluster::read_snapshot(sum + " 17179869184 1 2 3"));
  const auto large = cluster::read_snapshot(sum + " 17179869185 1 2 3");
  REQUIRE_FALSE(large);
  CHECK(large.error().what.find("16.0 GiB") != std::string::npos);
  CHECK_FALSE(cluster::read_snapshot(sum + " -1 1 2 3"));
  CHECK_FALSE(cluster::read_snapshot(sum + " 99999999999999999999 1 2 3"));
}

TEST_CASE("a complete snapshot is accepted, with and without its checksum file") {
  const auto alone = checked(whole());
  REQUIRE(alone);
  CHECK(*alone == base::sha256(whole()));
  CHECK(checked(whole(), *alone + "  s.db\n"));
}

TEST_CASE("a snapshot that is cut, changed or another is damaged") {
  std::string changed = whole();
  changed[100] = 'q';
  const std::vector<base::Result<std::string>> all = {
      checked(whole().substr(0, 700)), checked(whole().substr(512)), checked(changed), checked(""),
      checked(whole(), base::sha256("another") + "  s.db\n")};
  for (const auto& one : all) {
    REQUIRE_FALSE(one);
    CHECK(one.error().fault == base::Fault::blocked);
    CHECK(one.error().what.find("damaged") != std::string::npos);
  }
  const auto missing = cluster::check_snapshot("/nowhere/s.db");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().fault == base::Fault::usage);
}

TEST_CASE("what a host says of its snapshot is read, and nothing else is") {
  const std::string sum(64, 'a');
  const auto read = cluster::read_snapshot(sum + " 1433632 3971150382 1476 1047");
  REQUIRE(read);
  CHECK(read->size == 1433632);
  CHECK(read->hash == 3971150382);
  CHECK(read->revision == 1476);
  CHECK(read->keys == 1047);
  for (const std::string& line : {std::string(), sum, sum + " 1 2 3", sum + " 0 2 3 4", sum + " 1 x 3 4",
                                  std::string(63, 'a') + " 1 2 3 4", sum + " 1 2 3 4 5"})
    CHECK_FALSE(cluster::read_snapshot(line));
}
