#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/files.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace fs = std::filesystem;

namespace {

/// A folder of the test's own, with $XDG_CONFIG_HOME set to one in it.
struct Folder {
  fs::path folder;
  std::string before;
  bool had = false;
  Folder() {
    std::string name = (fs::temp_directory_path() / "gpuadm-assets-XXXXXX").string();
    folder = ::mkdtemp(name.data());
    if (const char* value = std::getenv("XDG_CONFIG_HOME")) before = value, had = true;
    ::setenv("XDG_CONFIG_HOME", (folder / "config").c_str(), 1);
  }
  ~Folder() {
    had ? ::setenv("XDG_CONFIG_HOME", before.c_str(), 1) : ::unsetenv("XDG_CONFIG_HOME");
    fs::remove_all(folder);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  void write(const fs::path& path, std::string_view text) const {
    REQUIRE(base::write_file(folder / path, text));
  }
};

constexpr const char* probe = "playbooks/probe.sh";

}  // namespace

TEST_CASE("an embedded asset is the file of the source tree, byte for byte") {
  const Folder place;
  const auto store = assets::Store::open({});
  REQUIRE(store);
  for (const std::string& path : store->list()) {
    CAPTURE(path);
    if (path == "proof/image.tar") continue;  // made by the build
    const auto source = base::read_file(fs::path(GPUADM_SOURCE_DIR) / path);
    REQUIRE(source);
    CHECK(store->read(path) == *source);
    CHECK(store->origin(path) == "embedded");
  }
  CHECK(store->read(probe));
  CHECK(store->overrides().empty());
  for (const std::string& path : store->list("playbooks/")) CHECK(path.starts_with("playbooks/"));
  CHECK(store->list("no/such/").empty());
}

TEST_CASE("an operator's file replaces the embedded one, --assets before the configuration directory") {
  const Folder place;
  place.write("config/gpuadm/assets/playbooks/probe.sh", "configured\n");
  CHECK(assets::Store::open({})->read(probe) == "configured\n");

  place.write("mine/playbooks/probe.sh", "mine\n");
  place.write("mine/templates/new.yaml", "new\n");
  const auto store = assets::Store::open(place.folder / "mine");
  REQUIRE(store);
  CHECK(store->read(probe) == "mine\n");
  CHECK(store->origin(probe) == (place.folder / "mine/playbooks/probe.sh").string());
  CHECK(store->read("templates/new.yaml") == "new\n");

  const auto overrides = store->overrides();
  REQUIRE(overrides.size() == 2);
  CHECK(overrides[0].path == probe);
  CHECK(overrides[0].sha256 == base::sha256("mine\n"));
  CHECK(overrides[1].path == "templates/new.yaml");
  CHECK(std::ranges::count(store->list(), std::string(probe)) == 1);
}

TEST_CASE("the current directory overrides nothing") {
  const Folder place;
  place.write("playbooks/probe.sh", "wrong\n");
  const fs::path before = fs::current_path();
  fs::current_path(place.folder);
  CHECK(assets::Store::open({})->origin(probe) == "embedded");
  fs::current_path(before);
}

TEST_CASE("an asset's path cannot leave the folders of assets") {
  const Folder place;
  place.write("secret", "secret\n");
  place.write("mine/playbooks/probe.sh", "mine\n");
  const auto store = assets::Store::open(place.folder / "mine");
  REQUIRE(store);
  for (const std::string path : {"../secret", "playbooks/../../secret", "/etc/passwd", "", ".",
                                 "playbooks//probe.sh", "playbooks/", "./playbooks/probe.sh"}) {
    CAPTURE(path);
    REQUIRE_FALSE(store->read(path));
    CHECK(store->read(path).error().fault == base::Fault::usage);
  }
  CHECK(store->read("playbooks/none.yaml").error().fault == base::Fault::bug);
}

TEST_CASE("--assets with a directory that is not there is a usage fault") {
  const auto store = assets::Store::open("/no/such/place");
  REQUIRE_FALSE(store);
  CHECK(store.error().fault == base::Fault::usage);
}
