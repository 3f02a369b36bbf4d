#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/error.hpp"
#include "gpuadm/base/secret.hpp"
#include "gpuadm/playbook/playbook.hpp"

#include "commands/bundles/needs.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

namespace {

/// Longer than what a string holds without memory of its own, so that LeakSanitizer reports one that is lost.
const std::string long_text(200, 'x');

struct Pair {
  base::Secret secret;
  std::string text;
};

base::Result<std::string> failing() {
  return base::fail(base::Fault::parse, "no text");
}

base::Result<Pair> make_pair() {
  Pair pair{.secret = base::Secret(long_text), .text = {}};
  pair.text = TRY(failing());
  return pair;
}

std::size_t length_of(const base::Secret& secret, const std::string& text) {
  return secret.reveal().size() + text.size();
}

base::Result<std::size_t> call() {
  return length_of(base::Secret(long_text), TRY(failing()));
}

/// A folder of assets that replace gpuadm's own.
struct Overrides {
  std::filesystem::path folder = std::filesystem::temp_directory_path() / "gpuadm-test-try-XXXXXX";
  Overrides() {
    std::string name = folder.string();
    REQUIRE(::mkdtemp(name.data()));
    folder = name;
  }
  ~Overrides() { std::filesystem::remove_all(folder); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((folder / path).parent_path());
    std::ofstream(folder / path) << text;
  }
};

}  // namespace

// With -DGPUADM_SANITIZE=ON, LeakSanitizer fails the run if a path loses a member;
// tests/rules/try-is-not-in-braces.sh forbids the form that does.
TEST_CASE("an error after a member was built destroys the member") {
  CHECK(make_pair().error().what == "no text");
  CHECK(call().error().what == "no text");
}

TEST_CASE("a list of sources with an error in its second row loses nothing of the first values") {
  const assets::Store embedded = assets::Store::open({}).value();
  const playbook::Library library = playbook::Library::load(embedded, "init").value();
  const std::string url = "https://example.org/" + long_text;
  for (const std::string& row :
       {std::string("sum: \"{no_such_key}\""), std::string("sum: a, index: \"{no_such_key}\""),
        std::string("sum: a, kind: nonsense")}) {
    const Overrides overrides;
    overrides.write("data/sources.yaml", "files:\n  - { part: " + long_text + ", url: \"" + url + "\", " +
                                             row + " }\nimages: []\n");
    const assets::Store store = assets::Store::open(overrides.folder).value();
    commands::BundleNeeds needs;
    needs.kubernetes = *base::Version::parse("1.36.2");
    needs.architecture = "amd64";
    CHECK_FALSE(commands::read_sources(store, library.catalog(), needs));
  }
}

TEST_CASE("a step with an error in its second script loses nothing of the first") {
  for (const std::string& does : {"shell: { check: \"true # " + long_text + "\", apply: [] }",
                                  "wait: { check: \"true # " + long_text + "\" }",
                                  "upload: { kind: image, check: \"true # " + long_text + "\" }"}) {
    const Overrides overrides;
    overrides.write(
        "playbooks/init.yaml",
        "phases:\n  - name: one\n    title: One\n    steps:\n      - { id: a.b, title: A, " + does + " }\n");
    const assets::Store store = assets::Store::open(overrides.folder).value();
    CHECK_FALSE(playbook::Library::load(store, "init"));
  }
}
