#include "gpuadm/bundle/image.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bundle {

namespace {

using base::Fault;
using base::Tree;

bool is_digest(std::string_view text) {
  return text.size() == 71 && text.starts_with("sha256:") &&
         text.substr(7).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool all_of(std::string_view text, std::string_view more) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || more.find(c) != std::string_view::npos;
  });
}

/// "library/nginx": components of lower-case letters, digits and separators, none empty.
bool is_repository(std::string_view text) {
  return std::ranges::all_of(base::split(text, '/'), [](std::string_view part) {
    return all_of(part, "._-") && part.find("..") == std::string_view::npos && part.front() != '.';
  });
}

bool is_registry(std::string_view text) {
  return all_of(base::lower(text), ".-:[]") && text.front() != '.' && text.front() != '-';
}

/// A descriptor: {"digest": "sha256:…", "size": …}
Result<BundlePart> read_part(const Tree* tree, std::string_view source) {
  const Tree* digest = tree ? tree->find("digest") : nullptr;
  const Tree* said = tree ? tree->find("size") : nullptr;
  const std::int64_t size = said ? said->as_int().value_or(-1) : -1;
  if (!digest || !is_digest(digest->text()) || size < 0)
    return base::fail(Fault::parse, fmt::format("{}: a part of the image has no SHA-256 and size", source));
  if (tree->find("urls") && !tree->find("urls")->items().empty())
    return base::fail(Fault::parse,
                      fmt::format("{}: a layer of the image is outside of the registry", source));
  return BundlePart{digest->text().substr(7), static_cast<std::uint64_t>(size)};
}

}  // namespace

Result<ImageReference> parse_reference(std::string_view text) {
  ImageReference reference;
  std::string_view rest = text;
  if (const std::size_t at = rest.find('@'); at != std::string_view::npos) {
    reference.digest = rest.substr(at + 1);
    rest = rest.substr(0, at);
  }
  const std::size_t slash = rest.find('/');
  const std::string_view first = rest.substr(0, slash == std::string_view::npos ? 0 : slash);
  if (first.find_first_of(".:") != std::string_view::npos || first == "localhost") {
    reference.registry = first;
    rest = rest.substr(slash + 1);
  } else {
    reference.registry = "docker.io";
  }
  if (const std::size_t colon = rest.rfind(':'); colon != std::string_view::npos) {
    reference.tag = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (reference.tag.empty()) reference.tag = " ";
  }
  reference.repository = rest;
  if (reference.registry == "docker.io" && rest.find('/') == std::string_view::npos)
    reference.repository = "library/" + reference.repository;
  if (reference.tag.empty() && reference.digest.empty()) reference.tag = "latest";
  const bool good_tag =
      reference.tag.empty() || (reference.tag.size() <= 128 && reference.tag.front() != '.' &&
                                reference.tag.front() != '-' && all_of(base::lower(reference.tag), "._-"));
  if (!is_registry(reference.registry) || !is_repository(reference.repository) || !good_tag ||
      (!reference.digest.empty() && !is_digest(reference.digest)))
    return base::fail(Fault::usage, fmt::format("invalid image name: '{}'", base::printable(text, 200)),
                      "for example: registry.k8s.io/pause:3.9");
  return reference;
}

std::string full_name(const ImageReference& image) {
  return image.digest.empty() ? fmt::format("{}/{}:{}", image.registry, image.repository, image.tag)
                              : fmt::format("{}/{}@{}", image.registry, image.repository, image.digest);
}

Result<ImageManifest> parse_image_manifest(std::string_view json, std::string_view source) {
  const Tree tree = TRY(base::json::read(json, source));
  const Tree* version = tree.find("schemaVersion");
  if (!version || version->as_int() != 2)
    return base::fail(Fault::parse, fmt::format("{}: not a manifest of version 2", source),
                      "gpuadm reads OCI manifests and Docker's, schema 2");
  ImageManifest manifest;
  const Tree* type = tree.find("mediaType");
  manifest.media_type = type ? type->text() : "application/vnd.oci.image.manifest.v1+json";
  manifest.parts.push_back(TRY(read_part(tree.find("config"), source)));
  const Tree* layers = tree.find("layers");
  if (!layers || !layers->is_list())
    return base::fail(Fault::parse, fmt::format("{}: the manifest has no layers", source));
  for (const Tree& layer : layers->items()) manifest.parts.push_back(TRY(read_part(&layer, source)));
  return manifest;
}

Result<std::optional<std::string>> choose_platform(std::string_view json, std::string_view architecture,
                                                   std::string_view source) {
  const Tree tree = TRY(base::json::read(json, source));
  const Tree* manifests = tree.find("manifests");
  if (!manifests) return std::nullopt;
  std::vector<std::string> there;
  for (const Tree& item : manifests->items()) {
    const auto word = [&](const char* key) {
      const Tree* value = item.at({"platform", key});
      return value ? value->text() : std::string();
    };
    const Tree* digest = item.find("digest");
    if (word("os") == "linux" && word("architecture") == architecture && digest && is_digest(digest->text()))
      return digest->text();
    there.push_back(fmt::format("{}/{}", word("os"), word("architecture")));
  }
  return base::fail(Fault::usage,
                    fmt::format("{}: not available for linux/{}, only for {}", source, architecture,
                                base::printable(base::join(there, ", "), 300)),
                    "use an image for the architecture of the hosts");
}

std::optional<TokenRequest> parse_challenge(std::string_view header) {
  header = base::trim(header);
  if (base::lower(header.substr(0, 7)) != "bearer ") return std::nullopt;
  header.remove_prefix(7);
  TokenRequest request;
  while (!header.empty()) {
    const std::size_t equals = header.find('=');
    if (equals == std::string_view::npos) break;
    const std::string key = base::lower(base::trim(header.substr(0, equals)));
    header.remove_prefix(equals + 1);
    std::string_view value;
    if (header.starts_with('"')) {
      const std::size_t end = header.find('"', 1);
      if (end == std::string_view::npos) return std::nullopt;
      value = header.substr(1, end - 1);
      header.remove_prefix(end + 1);
    } else {
      value = header.substr(0, header.find(','));
      header.remove_prefix(value.size());
    }
    if (key == "realm") request.realm = value;
    if (key == "service") request.service = value;
    if (key == "scope") request.scope = value;
    while (!header.empty() && (header.front() == ',' || header.front() == ' ')) header.remove_prefix(1);
  }
  if (request.realm.empty()) return std::nullopt;
  return request;
}

}  // namespace bundle
