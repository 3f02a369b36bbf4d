#include "gpuadm/base/text.hpp"

#include "commands/bundles/needs.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

namespace {

const std::string a(64, 'a'), b(64, 'b');

struct ControlPlaneContext {
  assets::Store store = assets::Store::open({}).value();
  playbook::Library library = playbook::Library::load(store, "init").value();
  commands::Sources sources(const char* version) const {
    commands::BundleNeeds needs;
    needs.kubernetes = *base::Version::parse(version);
    needs.architecture = "arm64";
    return sources(needs);
  }
  commands::Sources sources(const commands::BundleNeeds& needs) const {
    const auto read = commands::read_sources(store, library.catalog(), needs);
    REQUIRE_MESSAGE(read, read.error().what);
    return *read;
  }
};

std::vector<std::string> parts(const commands::Sources& sources) {
  std::set<std::string> names;
  for (const auto& file : sources.files) names.insert(file.part);
  for (const auto& image : sources.images) names.insert(image.part);
  return {names.begin(), names.end()};
}

}  // namespace

TEST_CASE("a checksum is found in what projects publish") {
  CHECK(commands::find_sum(a + "\n", "kubeadm") == a);
  CHECK(commands::find_sum(fmt::format("{}  other\n{} *dir/runc.amd64\n", a, b), "runc.amd64") == b);
  CHECK(commands::find_sum(fmt::format("{}  other\n", a), "runc.amd64") == std::nullopt);
  CHECK(commands::find_sum("<html>", "kubeadm") == std::nullopt);
  const std::string index = fmt::format(
      "Package: x\nFilename: ./x_1.deb\nSHA256: {}\n\nPackage: y\nSHA256: {}\nFilename: pool/y_1.deb\n", a,
      b);
  CHECK(commands::find_in_index(index, "x_1.deb") == a);
  CHECK(commands::find_in_index(index, "y_1.deb") == b);
  CHECK(commands::find_in_index(index, "z_1.deb") == std::nullopt);
}

TEST_CASE("every source is filled in for every version, and is an https address") {
  const ControlPlaneContext context;
  for (const char* version : {"1.20.2", "1.26.0", "1.36.4"}) {
    const commands::Sources sources = context.sources(version);
    for (const auto& file : sources.files) {
      CAPTURE(file.url);
      CHECK((file.url.starts_with("https://") || !file.content.empty()));
      CHECK(file.url.find('{') == std::string::npos);
      CHECK((file.content.empty() ? !file.sum.empty() || !file.index.empty() : true));
      CHECK(file.index.empty() == (file.key.empty() || file.fingerprints.empty()));
    }
    CHECK(sources.files.front().url ==
          fmt::format("https://dl.k8s.io/release/v{}/bin/linux/arm64/kubeadm", version));
  }
}

TEST_CASE("a bundle holds what its hosts need, and what is skipped by a part's name stays out") {
  const ControlPlaneContext context;
  const auto chosen = [&](const commands::BundleNeeds& needs, const std::vector<std::string>& skip) {
    commands::Sources sources = context.sources("1.36.4");
    const auto done = commands::choose_sources(sources, needs, skip);
    return done ? base::join(parts(sources), " ") : done.error().what + "; " + done.error().hint;
  };
  commands::BundleNeeds needs;
  CHECK(chosen(needs, {}) == "cni crictl device-plugin kubernetes network runtime toolkit");
  CHECK(chosen(needs, {"coredns", "crictl", "runtime"}) == "cni device-plugin kubernetes network toolkit");
  CHECK(chosen(needs, {"toolkt"}) == "--skip toolkt: unknown component; did you mean toolkit?");
  needs.cluster.control_plane.virtual_address = "192.0.2.9";
  CHECK(chosen(needs, {"network"}) == "cni crictl device-plugin kube-vip kubernetes runtime toolkit");
  CHECK(chosen(needs, {"kube-vip"}) == "cni crictl device-plugin kubernetes network runtime toolkit");
  needs.cluster.runtime.engine = spec::Engine::docker;
  CHECK(chosen(needs, {}) == "cni crictl device-plugin kube-vip kubernetes network toolkit");
  commands::Sources sources = context.sources("1.36.4");
  const auto digests = [&] {
    return std::ranges::count_if(sources.images, [](const auto& image) { return image.name.contains('@'); });
  };
  CHECK(digests() == 3);
  REQUIRE(commands::choose_sources(sources, needs, {}));
  CHECK(digests() == 0);
  needs.cluster = {};
  needs.families = {"redhat"};
  needs.runtime = false;
  needs.cluster.network.plugin = spec::NetworkPlugin::bridge;
  CHECK(chosen(needs, {}) == "cni crictl device-plugin kubernetes");
  needs.gpus = false;
  CHECK(chosen(needs, {}) == "cni crictl kubernetes");
}

TEST_CASE("packages come from the mirror that the cluster file names") {
  commands::BundleNeeds needs;
  needs.kubernetes = {1, 36, 4};
  needs.architecture = "amd64";
  needs.cluster.mirrors.packages["nvidiaContainerToolkit"] = "http://mirror.lab/toolkit";
  const auto sources = ControlPlaneContext().sources(needs);
  CHECK(std::ranges::count_if(sources.files, [](const commands::SourceFile& file) {
          return file.part == "toolkit" &&
                 file.url.starts_with("http://mirror.lab/toolkit/stable/deb/amd64/") &&
                 file.index == "http://mirror.lab/toolkit/stable/deb/amd64/Packages" &&
                 file.key == "http://mirror.lab/toolkit/gpgkey" && file.fingerprints.size() == 40;
        }) == 4);
  needs.cluster.mirrors.package_keys["nvidiaContainerToolkit"] = "0123";
  CHECK(std::ranges::count_if(ControlPlaneContext().sources(needs).files,
                              [](const commands::SourceFile& file) { return file.fingerprints == "0123"; }) ==
        4);
}

TEST_CASE("the newest patch of a minor is what its release names, and nothing else is taken for one") {
  const ControlPlaneContext context;
  const base::Version minor{1, 36, 0};
  CHECK(commands::newest_source(context.store, context.library.catalog(), minor) ==
        "https://dl.k8s.io/release/stable-1.36.txt");
  CHECK(commands::read_newest("1.36.4\n", minor, "x")->text() == "1.36.4");
  CHECK(commands::read_newest("v1.36.4", minor, "x")->text() == "1.36.4");
  for (const char* text : {"", "<html>", "v1.35.1\n", "v1.36"}) {
    const auto newest = commands::read_newest(text, minor, "https://x");
    REQUIRE(!newest);
    CHECK(newest.error().what ==
          fmt::format("https://x has no patch release of Kubernetes 1.36: it begins with '{}'",
                      base::printable(std::string(text).substr(0, 60))));
  }
}

TEST_CASE("the images of notebooks are only in a bundle if their framework is named") {
  const ControlPlaneContext context;
  commands::BundleNeeds needs;
  const auto images = [&](const std::vector<std::string>& frameworks) {
    return commands::catalog_images(context.store, needs, commands::notebook_images, frameworks);
  };
  CHECK(images({}).value().empty());
  const auto all = images({"pytorch"});
  REQUIRE(all);
  CHECK(all->size() > 1);
  CHECK(std::ranges::all_of(*all, [](const auto& image) { return image.contains("pytorch-notebook:"); }));
  CHECK(images({"pytorch", "tensorflow"}).value().size() > all->size());
  needs.gpus = false;
  REQUIRE(images({"pytorch"}).value().size() == 1);
  CHECK_FALSE(images({"pytorch"}).value().front().contains("cuda"));
  const auto wrong = images({"torch"});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().hint.starts_with("known: pytorch, tensorflow"));
}

TEST_CASE("the images of an engine are only in a bundle if it is named") {
  const ControlPlaneContext context;
  commands::BundleNeeds needs;
  const auto images = [&](const std::vector<std::string>& engines) {
    return commands::catalog_images(context.store, needs, commands::engine_images, engines);
  };
  CHECK(images({}).value().empty());
  const auto vllm = images({"vllm"});
  REQUIRE(vllm);
  CHECK(vllm->size() > 1);
  CHECK(std::ranges::all_of(*vllm, [](const auto& image) { return image.contains("/vllm-openai:"); }));
  needs.gpus = false;
  CHECK(images({"vllm"}).value().empty());  // it has no image for CPUs
  CHECK(images({"llama.cpp"}).value().size() == 1);
  const auto wrong = images({"vlm"});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().what == "--serve vlm: unknown engine");
  CHECK(wrong.error().hint.contains("vllm"));
}
