#include "gpuadm/bundle/image.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

namespace bundle {

namespace {

using base::Fault;
using base::Tree;

bool is_digest(std::string_view text) {
  return text.size() == 71 && text.starts_with("sha256:") &&
         text.substr(7).find_first_not_of("0123456789abcdef") == std::string_view::npos;
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
