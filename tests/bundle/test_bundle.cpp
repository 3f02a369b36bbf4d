#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/bundle/bundle.hpp"

#include "bundle/known_sums.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

namespace fs = std::filesystem;

namespace {

struct BundleFolder {
  fs::path path;
  BundleFolder() {
    std::string name = (fs::temp_directory_path() / "gpuadm-bundle-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~BundleFolder() { fs::remove_all(path); }
  BundleFolder(const BundleFolder&) = delete;
  BundleFolder& operator=(const BundleFolder&) = delete;
  void write(const fs::path& name, std::string_view text) const {
    REQUIRE(base::write_file(path / name, text));
  }
  void manifest(std::string_view files, std::string_view head = "") const {
    constexpr std::string_view usual =
        "apiVersion: gpuadm/v1alpha1\nkind: Bundle\nname: lab\nkubernetes: \"1.20.2\"\narchitecture: amd64\n";
    write("manifest.yaml", fmt::format("{}files:\n{}", head.empty() ? usual : head, files));
  }
  /// What is wrong, without the manifest's own path.
  std::string problems() const {
    const auto bundle = bundle::open_bundle(path);
    if (bundle) return "none";
    return base::replace_all(bundle.error().what, fs::canonical(path).string() + "/", "");
  }
};

std::string entry(std::string_view path, std::string_view bytes) {
  return fmt::format("  - {{ path: {}, kind: file, target: /opt/{}, mode: \"0644\", sha256: {} }}\n", path,
                     path, base::sha256(bytes));
}

}  // namespace

TEST_CASE("a bundle is read if every file has the checksum in the manifest") {
  const BundleFolder folder;
  folder.write("bin/kubeadm", std::string(3 << 20, 'k'));
  folder.write("images/pause.tar", "pause");
  folder.write("packages/runc.deb", "runc");
  fs::create_symlink("kubeadm", folder.path / "bin/link");
  folder.manifest(fmt::format(
      "  - {{ path: bin/kubeadm, kind: binary, target: /usr/bin/kubeadm, mode: 0755, sha256: {} }}\n"
      "  - {{ path: images/pause.tar, kind: image, name: \"k8s.gcr.io/pause:3.2\", sha256: {} }}\n"
      "  - {{ path: packages/runc.deb, kind: package, os: debian, sha256: {} }}\n"
      "  - {{ path: bin/link, kind: file, target: /opt/kubeadm, mode: \"644\", sha256: {} }}\n"
      "absent: [coredns]\n",
      base::sha256(std::string(3 << 20, 'k')), base::sha256("pause"), base::sha256("runc"),
      base::sha256(std::string(3 << 20, 'k'))));
  const auto bundle = bundle::open_bundle(folder.path);
  REQUIRE_MESSAGE(bundle, bundle.error().what);
  CHECK(bundle->name == "lab");
  CHECK(bundle->kubernetes == "1.20.2");
  CHECK(bundle->architecture == "amd64");
  CHECK(bundle->absent == std::vector<std::string>{"coredns"});
  REQUIRE(bundle->files.size() == 4);
  CHECK(bundle->files[0].kind == bundle::BundleKind::binary);
  CHECK(bundle->files[0].target == "/usr/bin/kubeadm");
  CHECK(bundle->files[0].mode == "0755");
  CHECK(bundle->files[1].name == "k8s.gcr.io/pause:3.2");
  CHECK(bundle->files[2].os == "debian");
}

TEST_CASE("every changed file of a bundle is reported with both checksums") {
  const BundleFolder folder;
  folder.write("a", "changed");
  folder.write("b", "");
  folder.manifest(entry("a", "a") + entry("b", "b") + entry("c", "c"));
  CHECK(folder.problems() == fmt::format("a: its SHA-256 is {}, expected {}\n"
                                         "b: its SHA-256 is {}, expected {}\n"
                                         "c: No such file or directory",
                                         base::sha256("changed"), base::sha256("a"), base::sha256(""),
                                         base::sha256("b")));
}

TEST_CASE("a bundle cannot reach a file outside its directory") {
  const BundleFolder outside, folder;
  outside.write("secret", "secret");
  fs::create_symlink(outside.path / "secret", folder.path / "link");
  fs::create_directory_symlink(outside.path, folder.path / "folder");
  fs::create_directory(folder.path / "real");
  folder.manifest(entry("link", "secret") + entry("folder/secret", "secret") + entry("real", ""));
  const std::string secret = fs::canonical(outside.path / "secret").string();
  CHECK(folder.problems() == "link: points out of the bundle, to " + secret +
                                 "\nfolder/secret: points out of the bundle, to " + secret +
                                 "\nreal: not a regular file");
  folder.manifest(entry("../secret", "secret") + entry("/etc/passwd", ""));
  CHECK(folder.problems() ==
        "manifest.yaml:7:13: path: expected path below the bundle, got '../secret'"
        "\nmanifest.yaml:7:44: target: expected absolute path, got '/opt/../secret'"
        "\nmanifest.yaml:8:13: path: expected path below the bundle, got '/etc/passwd'"
        "\nmanifest.yaml:8:46: target: expected absolute path, got '/opt//etc/passwd'");
}

TEST_CASE("a manifest is read strictly, every problem at once") {
  const BundleFolder folder;
  folder.write("a", "a");
  folder.manifest(
      "  - { path: a, kind: helm-chart }\n"
      "  - { path: a, kind: image, target: /a, sha256: XYZ }\n"
      "  - { path: a, kind: binary, target: bin/a, mode: rwx, sha256: 1, sah256: 2 }\n"
      "  - a\n",
      "apiVersion: gpuadm/v1\nkind: Bundle\nname: [a]\nkubernetes: 1.20\narchitecture: vax\nabsent: "
      "coredns\nextra: 1\n");
  CHECK(folder.problems() == R"(manifest.yaml:1:13: apiVersion: expected gpuadm/v1alpha1, got 'gpuadm/v1'
manifest.yaml:3:7: name: expected word, got ''
manifest.yaml:4:13: kubernetes: expected version such as 1.36.2, got '1.20'
manifest.yaml:5:15: architecture: expected amd64 | arm64, got 'vax'
manifest.yaml:6:9: absent: expected list of components
manifest.yaml:7:1: extra: unknown key (known: apiVersion, kind, name, kubernetes, architecture, absent, files)
manifest.yaml:9:22: kind: expected binary | runtime | image | package | repository | file, got 'helm-chart'
manifest.yaml:10:5: name: missing
manifest.yaml:10:29: files[].target: unknown key (known: path, kind, sha256, name, size)
manifest.yaml:10:49: sha256: expected 64 hexadecimal digits, got 'XYZ'
manifest.yaml:11:5: a: duplicate
manifest.yaml:11:38: target: expected absolute path, got 'bin/a'
manifest.yaml:11:51: mode: expected mode such as 0755, got 'rwx'
manifest.yaml:11:64: sha256: expected 64 hexadecimal digits, got '1'
manifest.yaml:11:67: files[].sah256: unknown key (did you mean sha256?)
manifest.yaml:12:5: files[]: expected map with path, kind, sha256 …)");
}

TEST_CASE("a directory without a manifest, or with an empty one, is not a bundle") {
  const BundleFolder folder;
  CHECK(bundle::open_bundle(folder.path).error().fault == base::Fault::usage);
  CHECK(bundle::open_bundle("/no/such/place").error().fault == base::Fault::usage);
  folder.write("manifest.yaml", "");
  CHECK(bundle::open_bundle(folder.path).error().fault == base::Fault::spec);
  folder.manifest("  []\n");
  CHECK(folder.problems() == "manifest.yaml:7:3: files: expected list with at least one file");
}

TEST_CASE(
    "a file that was not written since its checksum was computed is not read again, and one that was, is") {
  const BundleFolder folder;
  folder.write("a", "one");
  const auto sum_of_a = [&](bundle::KnownSums& sums) { return *sums.sum_of(folder.path / "a"); };
  const auto kept = [&] { return base::read_file(folder.path / "sums").value_or(""); };
  bundle::KnownSums early(folder.path / "sums");
  CHECK(sum_of_a(early) == base::sha256("one"));
  early.save();
  CHECK(kept().empty());  // it was written just now, and may be again
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  bundle::KnownSums first(folder.path / "sums");
  CHECK(sum_of_a(first) == base::sha256("one"));
  first.save();
  REQUIRE(kept().starts_with(base::sha256("one") + " "));

  const std::string zeros(64, '0');
  folder.write("sums", zeros + kept().substr(64));
  bundle::KnownSums again(folder.path / "sums");
  CHECK(sum_of_a(again) == zeros);

  const auto written = fs::last_write_time(folder.path / "a");
  folder.write("a", "two");
  fs::last_write_time(folder.path / "a", written);
  bundle::KnownSums changed(folder.path / "sums");
  CHECK(sum_of_a(changed) == base::sha256("two"));
  bundle::KnownSums none{{}};
  CHECK(sum_of_a(none) == base::sha256("two"));
}
