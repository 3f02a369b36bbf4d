#include "gpuadm/base/text.hpp"
#include "gpuadm/bundle/fetch.hpp"
#include "gpuadm/bundle/files.hpp"
#include "gpuadm/bundle/pack.hpp"

#include "bundle/folder.hpp"

#include <fmt/format.h>

namespace fs = std::filesystem;
using bundle::BundleKind;

namespace {

std::string file(std::string_view name, std::string_view bytes) {
  return bundle::tar_header(name, bytes.size()) + std::string(bytes) + bundle::tar_padding(bytes.size());
}

/// A bundle of a program and an image, whose blobs lie in a folder.
struct Sample {
  Place place;
  bundle::Bundle bundle{.directory = {},
                        .name = "lab",
                        .kubernetes = "1.20.2",
                        .architecture = "amd64",
                        .absent = {},
                        .files = {}};
  bundle::BlobPlace blobs = [this](const std::string& sha256) { return place.path / "store" / sha256; };

  bundle::BundlePart keep(std::string_view bytes) const {
    (void)place.write("store/" + base::sha256(bytes), bytes);
    return {base::sha256(bytes), bytes.size()};
  }
  Sample() {
    const auto program = keep("program"), config = keep(R"({"architecture":"amd64"})"), layer = keep("layer");
    const auto manifest = keep(fmt::format(
        R"({{"schemaVersion":2,"config":{{"digest":"sha256:{}","size":{}}},"layers":[{{"digest":"sha256:{}","size":{}}}]}})",
        config.sha256, config.size, layer.sha256, layer.size));
    bundle.files.push_back({.path = {},
                            .kind = BundleKind::binary,
                            .target = "/usr/bin/a",
                            .mode = "0755",
                            .sha256 = program.sha256,
                            .size = program.size});
    bundle::BundleFile image{.path = {}, .kind = BundleKind::image, .name = "x.io/pause:1"};
    image.parts = {manifest, config, layer};
    const auto sum = bundle::sum_of_image(image.name, image.parts, blobs);
    REQUIRE(sum);
    image.sha256 = sum->sha256;
    image.size = sum->size;
    bundle.files.push_back(image);
  }
  fs::path archive(const std::string& bytes) const { return place.write("made.tar", bytes); }
  std::string manifest() const { return file("manifest.yaml", bundle::manifest_of(bundle)); }
  std::string every_blob() const {
    std::string all;
    for (const auto& [sha256, size] : bundle::blobs_of(bundle))
      all += file("blobs/" + sha256, base::read_file(blobs(sha256)).value());
    return all;
  }
  std::string unpacking(const std::string& bytes) const {
    const auto done = bundle::unpack_bundle(archive(bytes), place.path / "cache");
    return done ? "fine"
                : base::replace_all(done.error().what, (place.path / "made.tar").string() + ": ", "");
  }
};

}  // namespace

TEST_CASE("a manifest that is written reads back as the same") {
  const Sample sample;
  const std::string text = bundle::manifest_of(sample.bundle);
  const auto again = bundle::parse_bundle(text, "manifest.yaml");
  REQUIRE(again);
  CHECK(bundle::manifest_of(*again) == text);
  CHECK(again->files[1].parts.size() == 3);
}

TEST_CASE("a bundle as one file opens as it does as a folder, and its images become archives") {
  const Sample sample;
  const fs::path file = sample.place.path / "b.tar.zst", folder = sample.place.path / "b";
  REQUIRE(bundle::write_bundle_archive(sample.bundle, "signature", sample.blobs, file));
  REQUIRE(bundle::write_bundle_folder(sample.bundle, "signature", sample.blobs, folder));
  CHECK(bundle::read_bundle_head(file)->signature == "signature");
  CHECK(bundle::read_bundle_head(folder)->manifest == bundle::read_bundle_head(file)->manifest);
  const auto unpacked = bundle::unpack_bundle(file, sample.place.path / "cache");
  REQUIRE(unpacked);
  for (const fs::path& place : {*unpacked, folder}) {
    const auto opened = bundle::open_bundle(place, sample.place.path / "images");
    REQUIRE(opened);
    CHECK(base::sha256_of_file(opened->directory / opened->files[0].path).value() == opened->files[0].sha256);
    CHECK(base::sha256_of_file(opened->directory / opened->files[1].path).value() == opened->files[1].sha256);
  }
  CHECK(bundle::unpack_bundle(file, {}));
  CHECK(bundle::write_bundle_folder(sample.bundle, "", sample.blobs, folder).error().what ==
        folder.string() + ": already exists");
}

TEST_CASE("an image that is named by its digest has that name for containerd, and no tag for Docker") {
  Sample sample;
  bundle::BundleFile& image = sample.bundle.files[1];
  image.name = "x.io/pause@sha256:" + std::string(64, 'a');
  image.sha256 = bundle::sum_of_image(image.name, image.parts, sample.blobs).value().sha256;
  image.size = bundle::sum_of_image(image.name, image.parts, sample.blobs).value().size;
  const fs::path folder = sample.place.path / "b";
  REQUIRE(bundle::write_bundle_folder(sample.bundle, "", sample.blobs, folder));
  const auto opened = bundle::open_bundle(folder, sample.place.path / "images");
  REQUIRE(opened);
  const std::string archive = base::read_file(opened->files[1].path).value();
  CHECK(archive.find("\"io.containerd.image.name\":\"" + image.name + '"') != std::string::npos);
  CHECK(archive.find("\"RepoTags\":[]") != std::string::npos);
}

TEST_CASE("a manifest that differs from the one read before is not used") {
  const Sample sample;
  const fs::path folder = sample.place.path / "b";
  REQUIRE(bundle::write_bundle_folder(sample.bundle, "", sample.blobs, folder));
  const std::string manifest = bundle::read_bundle_head(folder).value().manifest;
  CHECK(bundle::open_bundle(folder, {}, base::sha256(manifest)));
  CHECK(bundle::open_bundle(folder, {}, base::sha256(manifest + "\n")).error().what ==
        (folder / "manifest.yaml").string() + ": changed while reading");
}

TEST_CASE("every blob of a bundle that is changed is refused by name, in a folder and in an archive") {
  const Sample sample;
  const std::string whole = sample.manifest() + sample.every_blob() + bundle::tar_end();
  CHECK(sample.unpacking(whole) == "fine");
  for (const auto& [sha256, size] : bundle::blobs_of(sample.bundle)) {
    CAPTURE(sha256);
    const fs::path folder = sample.place.path / sha256;
    REQUIRE(bundle::write_bundle_folder(sample.bundle, "", sample.blobs, folder));
    std::string bytes = base::read_file(sample.blobs(sha256)).value();
    bytes.back() ^= 1;
    REQUIRE(base::write_file(folder / "blobs" / sha256, bytes));
    const auto opened = bundle::open_bundle(folder);
    REQUIRE(!opened);
    CHECK(opened.error().what.starts_with(
        fmt::format("{}/blobs/{}: its SHA-256 is ", folder.string(), sha256)));
    std::string spoilt = whole;
    const std::size_t at = spoilt.find("blobs/" + sha256, sample.manifest().size());
    spoilt[at + 512] ^= 1;
    for (const char* cache : {"cache", "new"}) {
      const auto done = bundle::unpack_bundle(sample.archive(spoilt), sample.place.path / cache);
      REQUIRE(!done);
      CHECK(done.error().what.find(fmt::format("blobs/{} (", sha256)) != std::string::npos);
      CHECK(done.error().what.find("its SHA-256 is ") != std::string::npos);
    }
    CHECK(!fs::exists(sample.place.path / "new" / base::sha256(bundle::manifest_of(sample.bundle)) / "blobs" /
                      sha256));
  }
}

TEST_CASE("an archive writes nothing that its manifest does not name") {
  const Sample sample;
  const std::string end = bundle::tar_end(), head = sample.manifest(), blobs = sample.every_blob();
  for (const char* name : {"../evil", "/etc/evil", "blobs/../../evil", "blobs/", "blobs/0123", "x"}) {
    CAPTURE(name);
    CHECK(sample.unpacking(head + file(name, "evil") + end) ==
          fmt::format("contains {}, which is not in its manifest", name));
  }
  std::string link = bundle::tar_header("blobs/" + base::sha256("layer"), 0);
  link[156] = '2';
  CHECK(sample.unpacking(head + link + end) == "damaged: Damaged tar archive");
  CHECK(sample.unpacking(file("blobs/" + base::sha256("layer"), "layer") + head + end) ==
        "not a bundle: it does not begin with manifest.yaml");
  CHECK(sample.unpacking(head + file("blobs/" + base::sha256("layer"), "longer than that") + end) ==
        fmt::format("blobs/{} (image x.io/pause:1): 16 bytes, expected 5", base::sha256("layer")));
  CHECK(sample.unpacking(head + end).find(" is missing") != std::string::npos);
  CHECK(sample.unpacking((head + blobs).substr(0, head.size() + 700)).ends_with("Truncated tar archive"));
  CHECK(!fs::exists(sample.place.path / "evil"));
}

TEST_CASE(
    "an image is fetched from a folder that mirrors its registry, each part with the sum it must have") {
  const Sample sample;
  const Place mirror;
  const auto& parts = sample.bundle.files[1].parts;
  const auto at = [&](const std::string& path, const std::string& sha256) {
    (void)mirror.write("x.io/v2/pause/" + path, base::read_file(sample.blobs(sha256)).value());
  };
  at("manifests/1", parts[0].sha256);
  at("blobs/sha256:" + parts[1].sha256, parts[1].sha256);
  at("blobs/sha256:" + parts[2].sha256, parts[2].sha256);
  const auto fetch = [&](const char* store) {
    auto fetcher =
        bundle::Fetcher::open({.place = mirror.path.string(), .registries = {}, .logins = {}, .proxy = {}},
                              sample.place.path / store, [](const std::string&, std::uint64_t) {});
    REQUIRE(fetcher);
    return fetcher->image("x.io/pause:1", "amd64");
  };
  REQUIRE(fetch("one"));
  CHECK(fetch("one")->size() == 3);
  CHECK(bundle::Fetcher::open({.place = "/no/such", .registries = {}, .logins = {}, .proxy = {}},
                              sample.place.path / "x", nullptr)
            .error()
            .what == "--source /no/such: no such directory");
  (void)mirror.write("x.io/v2/pause/blobs/sha256:" + parts[2].sha256, "Layer");
  CHECK(fetch("one"));  // it exists already
  CHECK(fetch("two").error().what.find("its SHA-256 is " + base::sha256("Layer")) != std::string::npos);
  (void)mirror.write("x.io/v2/pause/manifests/1", "<html>login</html>");
  CHECK(!fetch("three"));
}
