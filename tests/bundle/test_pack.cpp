#include "gpuadm/bundle/files.hpp"
#include "gpuadm/bundle/pack.hpp"

#include "bundle/folder.hpp"

#include <fmt/format.h>

namespace fs = std::filesystem;

namespace {

std::string packed_file(std::string_view name, std::string_view bytes) {
  return bundle::tar_header(name, bytes.size()) + std::string(bytes) + bundle::tar_padding(bytes.size());
}

/// "NAME TYPE BYTES" for each entry, then what ended it.
std::string listing(const fs::path& archive) {
  auto opened = bundle::ArchiveReader::tar(archive);
  if (!opened) return opened.error().what;
  bundle::ArchiveReader& tar = *opened;
  std::string text;
  while (true) {
    const auto entry = tar.next();
    if (!entry) return text + entry.error().what;
    if (!*entry) return text + "end";
    std::string content(static_cast<std::size_t>((*entry)->size), '\0');
    std::size_t at = 0;
    while (at < content.size()) {
      const auto got = tar.read(&content[at], content.size() - at);
      if (!got) return text + got.error().what;
      at += *got;
    }
    text += fmt::format("{} {} {}\n", (*entry)->name, (*entry)->type, content);
  }
}

}  // namespace

TEST_CASE("what tar has packed is read, long names and folders and links included") {
  for (const char* name : {"gnu.tar.gz", "gnu.tar.xz", "pax.tar.gz", "ustar.tar"}) {
    CAPTURE(name);
    const fs::path archive = fs::path(GPUADM_TESTS_DIR) / "cases/archive" / name;
    const std::string deep =
        std::string(name).starts_with("ustar") ? "" : std::string(120, 'n') + " 0 long\n";
    CHECK(listing(archive) == fmt::format("folder/ 5 \nfolder/file 0 bytes\nlink 2 \n{}end", deep));
  }
}

TEST_CASE("an archive of ours reads back, and is the same bytes again") {
  const Place place;
  for (const char* name : {"one.tar.zst", "two.tar.zst"}) {
    auto out = bundle::ZstdWriter::make(place.path / name);
    REQUIRE(out);
    for (const std::string& piece :
         {packed_file("a", ""), packed_file("b/c", std::string(513, 'c')), bundle::tar_end()})
      REQUIRE(out->add(piece));
    REQUIRE(out->end());
  }
  CHECK(listing(place.path / "one.tar.zst") == fmt::format("a 0 \nb/c 0 {}\nend", std::string(513, 'c')));
  CHECK(base::sha256_of_file(place.path / "one.tar.zst").value() ==
        base::sha256_of_file(place.path / "two.tar.zst").value());
  {
    const auto unfinished = bundle::ZstdWriter::make(place.path / "three.tar.zst");
    CHECK(fs::exists(place.path / "three.tar.zst.part"));
  }
  CHECK(!fs::exists(place.path / "three.tar.zst.part"));
}

TEST_CASE("a damaged archive says how it is damaged") {
  const Place place;
  const std::string whole = packed_file("a", "bytes") + bundle::tar_end();
  CHECK(listing(place.write("cut", whole.substr(0, 514))).ends_with("/cut: damaged: Truncated tar archive"));
  // A writer may omit the end marker; what is missing is seen by its name.
  CHECK(listing(place.write("no-end", packed_file("a", "bytes"))) == "a 0 bytes\nend");
  std::string other = whole;
  other[0] = 'b';
  CHECK(listing(place.write("sum", other)).ends_with("/sum: damaged: Unrecognized archive format"));
  CHECK(listing(place.write("empty", "")).ends_with("/empty: damaged: Unrecognized archive format"));
  const auto gz = base::read_file(fs::path(GPUADM_TESTS_DIR) / "cases/archive/gnu.tar.gz");
  REQUIRE(gz);
  CHECK(listing(place.write("half.gz", gz->substr(0, gz->size() / 2)))
            .ends_with("half.gz: damaged: truncated gzip input"));
  std::string spoilt = *gz;
  spoilt[spoilt.size() / 2] ^= 1;
  CHECK(!listing(place.write("spoilt.gz", spoilt)).ends_with("end"));
}

TEST_CASE("files of an archive are taken out by name, and no others") {
  const Place place;
  const fs::path archive =
      place.write("a.tar", packed_file("./bin/one", "1") + packed_file("bin/two", "22") + bundle::tar_end());
  std::string one;
  const auto into = [](std::string& text) {
    return [&text](std::string_view piece) -> base::Result<> {
      text += piece;
      return {};
    };
  };
  CHECK(bundle::extract(archive, 10, {{"bin/one", into(one)}}));
  CHECK(one == "1");
  CHECK(bundle::extract(archive, 10, {{"bin/three", into(one)}}).error().what ==
        archive.string() + ": no bin/three in it");
  CHECK(bundle::extract(archive, 1, {{"bin/two", into(one)}})
            .error()
            .what.ends_with("too large or a duplicate"));
}
