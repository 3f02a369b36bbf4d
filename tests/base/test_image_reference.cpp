#include "gpuadm/base/image_reference.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace {

const std::string digest_of_a = "sha256:" + std::string(64, 'a');

std::string parts_of_image(std::string_view text) {
  const auto image = base::parse_image_reference(text);
  if (!image) return image.error().what;
  return fmt::format("{} {} {} {}", image->registry, image->repository, image->tag, image->digest);
}

/// Why the text is not a reference.
std::string why_no_image(std::string_view text) {
  const auto image = base::parse_image_reference(text);
  if (image) return "valid";
  const std::string before = fmt::format("invalid image name '{}': ", text);
  const bool is_usage = image.error().fault == base::Fault::usage && image.error().what.starts_with(before);
  return is_usage ? image.error().what.substr(before.size()) : image.error().what;
}

}  // namespace

TEST_CASE("names of images are read as registries and Docker mean them") {
  CHECK(parts_of_image("registry.k8s.io/pause:3.9") == "registry.k8s.io pause 3.9 ");
  CHECK(parts_of_image("nginx") == "docker.io library/nginx latest ");
  CHECK(parts_of_image("a/b:1") == "docker.io a/b 1 ");
  CHECK(parts_of_image("localhost:5000/a/b/c:v1.2_x") == "localhost:5000 a/b/c v1.2_x ");
  CHECK(parts_of_image("[2001:DB8::1]:5000/a") == "[2001:DB8::1]:5000 a latest ");
  CHECK(parts_of_image("Registry.lan/a__b/c--d.e_f:V1") == "Registry.lan a__b/c--d.e_f V1 ");
  CHECK(parts_of_image("ghcr.io/a/b@" + digest_of_a) == "ghcr.io a/b  " + digest_of_a);
  CHECK(parts_of_image("ghcr.io/a/b:1@" + digest_of_a) == "ghcr.io a/b 1 " + digest_of_a);
}

TEST_CASE("an invalid name of an image is refused with the reason") {
  CHECK(why_no_image("") == "it is empty");
  CHECK(why_no_image("a b") == "' ' is not allowed");
  CHECK(why_no_image("x.io/a?b") == "'?' is not allowed");
  CHECK(why_no_image("http://x/y") == "a scheme such as http:// is not allowed");
  CHECK(why_no_image(std::string(64, 'a')) == "it is an ID");
  CHECK(why_no_image("x.io/") == "it has no repository");
  CHECK(why_no_image("A/b") == "the repository has capital letters: 'A/b'");
  for (const char* repository : {"../a", "a//b", "/a", "a/", "a..b", "a___b", "a.-b", "-a", "a_", "a:b"}) {
    CAPTURE(repository);
    CHECK(why_no_image(fmt::format("x.io/{}:1", repository)).starts_with("the repository is not NAME"));
  }
  for (const char* registry :
       {"-x.io", "x-.io", "x..io", "x.io:", "x.io:5a", "[::1", "[x]:1", "[::1]5", "[]:1"}) {
    CAPTURE(registry);
    CHECK(why_no_image(fmt::format("{}/a", registry)).starts_with("the registry is not HOST"));
  }
  for (const char* tag : {"", "-1", ".1", "a[b"}) {
    CAPTURE(tag);
    CHECK(why_no_image(fmt::format("x.io/a:{}", tag)) == fmt::format("invalid tag: '{}'", tag));
  }
  CHECK(why_no_image("a:" + std::string(129, 'a')) == "the tag is longer than 128 characters");
  CHECK(parts_of_image("x.io/" + std::string(256, 'a'))
            .ends_with("the repository is longer than 255 characters"));
  CHECK(why_no_image("a@sha256:12") == "the digest is not sha256: with 64 hexadecimal digits");
}

TEST_CASE("an image has one full name, however it was called") {
  const auto full = [](std::string_view text) {
    return base::full_name(base::parse_image_reference(text).value());
  };
  CHECK(full("nginx") == "docker.io/library/nginx:latest");
  CHECK(full("registry.k8s.io/pause:3.9") == "registry.k8s.io/pause:3.9");
  CHECK(full("a/b@" + digest_of_a) == "docker.io/a/b@" + digest_of_a);
  CHECK(full("ghcr.io/a/b:1@" + digest_of_a) == "ghcr.io/a/b@" + digest_of_a);
}
