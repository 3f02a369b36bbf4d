#include "gpuadm/bundle/image.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace {

const std::string a_sum = std::string(64, 'a');

}  // namespace

TEST_CASE("a manifest of an image names its parts, all of them in the registry") {
  const std::string part = fmt::format(R"({{"digest":"sha256:{}","size":7}})", a_sum);
  const auto read = [&](const std::string& layers) {
    return bundle::parse_image_manifest(
        fmt::format(R"({{"schemaVersion":2,"config":{},"layers":{}}})", part, layers), "it");
  };
  const auto manifest = read("[" + part + "]");
  REQUIRE(manifest);
  CHECK(manifest->media_type == "application/vnd.oci.image.manifest.v1+json");
  REQUIRE(manifest->parts.size() == 2);
  CHECK(manifest->parts[1].sha256 == a_sum);
  CHECK(manifest->parts[1].size == 7);
  CHECK(read("1").error().what == "it: the manifest has no layers");
  CHECK(read(R"([{"digest":"sha256:../x","size":1}])").error().what ==
        "it: a part of the image has no SHA-256 and size");
  CHECK(read(fmt::format(R"([{{"digest":"sha256:{}","size":-1}}])", a_sum)).error().what ==
        "it: a part of the image has no SHA-256 and size");
  CHECK(read(fmt::format(R"([{{"digest":"sha256:{}","size":1,"urls":["http://x"]}}])", a_sum)).error().what ==
        "it: a layer of the image is outside of the registry");
  CHECK(bundle::parse_image_manifest(R"({"schemaVersion":1})", "it").error().what ==
        "it: not a manifest of version 2");
  CHECK(!bundle::parse_image_manifest("<html>", "it"));
}

TEST_CASE("of an index the manifest for the platform is chosen") {
  const std::string index = fmt::format(
      R"({{"manifests":[{{"digest":"sha256:{0}","platform":{{"os":"windows","architecture":"amd64"}}}},)"
      R"({{"digest":"sha256:{1}","platform":{{"os":"linux","architecture":"arm64","variant":"v8"}}}}]}})",
      a_sum, std::string(64, 'b'));
  CHECK(bundle::choose_platform(index, "arm64", "it").value() == "sha256:" + std::string(64, 'b'));
  CHECK(bundle::choose_platform(index, "amd64", "it").error().what ==
        "it: not available for linux/amd64, only for windows/amd64, linux/arm64");
  CHECK(bundle::choose_platform(R"({"layers":[]})", "amd64", "it").value() == std::nullopt);
}

TEST_CASE("what a registry asks for before it gives something") {
  const auto asked = bundle::parse_challenge(
      R"(Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:a/b:pull,push")");
  REQUIRE(asked);
  CHECK(asked->realm == "https://auth.docker.io/token");
  CHECK(asked->service == "registry.docker.io");
  CHECK(asked->scope == "repository:a/b:pull,push");
  CHECK(bundle::parse_challenge("bearer realm=https://x/t").value().realm == "https://x/t");
  for (const char* none : {"", "Basic realm=\"x\"", "Bearer", "Bearer service=\"x\"", "Bearer realm=\"x"})
    CHECK(!bundle::parse_challenge(none));
}
