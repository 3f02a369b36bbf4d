#include "gpuadm/base/debian_version.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/bundle/debian.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace debian = bundle::debian;

namespace {

std::string text_of(const char* name) {
  return base::read_file(std::filesystem::path(GPUADM_TESTS_DIR) / "cases/debian" / name, 1u << 20).value();
}

/// "name=version …" of the closure, or what is wrong.
std::string closure(const debian::Index& index, std::initializer_list<const char*> names) {
  std::vector<const debian::Package*> roots;
  for (const char* name : names) roots.push_back(index.find(name).at(0));
  const auto packages = index.closure(roots);
  if (!packages) return packages.error().what;
  std::string text;
  for (const auto* package : *packages) text += fmt::format("{}={} ", package->name, package->version);
  return text;
}

std::string refusal(std::string packages) {
  debian::Index index;
  const auto done = index.add(std::move(packages), "https://host/debian", "Packages");
  return done ? "taken" : done.error().what;
}

const std::string sum(64, 'a');

}  // namespace

TEST_CASE("versions are in dpkg's order") {
  // Each line was asked of `dpkg --compare-versions`.
  const std::string table = text_of("versions.txt");
  for (const std::string_view line : base::lines(table)) {
    CAPTURE(line);
    const auto words = base::words(line);
    REQUIRE(words.size() == 3);
    const int less = base::compare_debian_versions(words[0], words[2]);
    CHECK((less < 0 ? "<" : less > 0 ? ">" : "=") == words[1]);
    CHECK((base::compare_debian_versions(words[2], words[0]) > 0) == (less < 0));
  }
}

TEST_CASE("what a release says is what its signature covers") {
  const std::string in_release = text_of("InRelease"), text = debian::signed_text(in_release);
  CHECK(text.starts_with("Origin: Debian\n"));
  CHECK(text.ends_with("-dashed: line\n"));
  const auto sums = debian::parse_release(text, "it");
  REQUIRE(sums);
  CHECK(sums->size() == 2);
  CHECK(sums->at("main/binary-amd64/Packages.xz").size == 8790396);
  CHECK(debian::signed_text("SHA256:\n") == "SHA256:\n");
  CHECK(debian::parse_release("<html>", "https://host/InRelease").error().what ==
        "https://host/InRelease: no SHA-256 or SHA-512 of any index");
}

TEST_CASE("a release may have SHA-512 alone, and weaker sums do not count") {
  const std::string sum512(128, 'b');
  const auto sums =
      debian::parse_release(fmt::format("MD5Sum:\n {0} 5 Packages\nSHA512:\n {1} 5 Packages\n {0} 5 Short\n",
                                        std::string(32, 'a'), sum512),
                            "it");
  REQUIRE(sums);
  CHECK(sums->size() == 1);
  CHECK(sums->at("Packages").sha512 == sum512);
  CHECK(sums->at("Packages").sha256.empty());
  CHECK_FALSE(debian::parse_release("SHA1:\n " + std::string(40, 'a') + " 5 Packages\n", "it"));
}

TEST_CASE("packages are selected with all dependencies, in matching versions") {
  debian::Index index;
  REQUIRE(index.add(text_of("Packages"), "https://host/debian", "Packages"));
  CHECK(closure(index, {"dkms"}) ==
        "base-thing=1 dkms=3.0.10-8+deb12u1 gcc-12=12.2-1 kmod=30-1 libc=1 make=4.4-1 provider=10 ");
  // A selected package is used for all dependents; two versions may both be needed.
  CHECK(closure(index, {"libc", "make"}) == "libc=2 libc=1 make=4.4-1 ");
  CHECK(index.find("kmod").at(0)->url == "https://host/debian/pool/kmod_30-1_amd64.deb");
  CHECK(index.newest("nvidia-smi", "580.")->version == "1:580.95.05-1");
  CHECK(index.newest("nvidia-smi", "")->version == "1:590.48.01-1");
  CHECK(index.newest("nvidia-smi", "57") == nullptr);
  const auto broken = index.closure({index.newest("nvidia-smi", "580.")});
  REQUIRE_FALSE(broken);
  CHECK(broken.error().what ==
        "nvidia-smi 1:580.95.05-1 needs missing-thing (>= 3) | nobody, which no repository has");
}

TEST_CASE("a package's file stays below its repository, and has a size and a sum") {
  const auto stanza = [](std::string_view file, std::string_view size, std::string_view digest) {
    return fmt::format("Package: x\nVersion: 1\nFilename: {}\nSize: {}\nSHA256: {}\n", file, size, digest);
  };
  CHECK(refusal(stanza("pool/x.deb", "1", sum)) == "taken");
  for (const char* file : {"../x.deb", "pool/../../x.deb", "/etc/x.deb", "", "pool/x y.deb", "x?y", "x\ty"}) {
    CAPTURE(file);
    CHECK(refusal(stanza(file, "1", sum)).find("which is not below its repository") != std::string::npos);
  }
  CHECK(refusal(stanza("x.deb", "99999999999999", sum)) ==
        "Packages: the package 'x' has no size that can be");
  CHECK(refusal(stanza("x.deb", "-1", sum)) == "Packages: the package 'x' has no size that can be");
  CHECK(refusal(stanza("x.deb", "1", "abc")) == "Packages: the package 'x' has no SHA-256");
  CHECK(refusal("Package: a/b\nVersion: 1\n").find("no valid name or version") != std::string::npos);
  CHECK(refusal("<html>\n<body>\n") == "taken");  // of no package
}

TEST_CASE("a package is listed with the file name that it has elsewhere") {
  debian::Index index;
  REQUIRE(index.add(text_of("Packages"), "https://host/debian", "Packages"));
  const std::string text = debian::stanza_with(*index.find("kmod").at(0), "pool/k.deb");
  CHECK(
      text ==
      fmt::format("Package: kmod\nVersion: 30-1\nDepends: dkms\nSize: 10\nSHA256: {}\nFilename: pool/k.deb\n",
                  std::string(64, '3')));
}
