#pragma once

#include "gpuadm/bundle/bundle.hpp"

#include <string>
#include <string_view>
#include <vector>

/// Container images in registries: https://github.com/opencontainers/distribution-spec and image-spec.
namespace bundle {

/// The distribution specification lets registries reject manifests above this size.
constexpr std::size_t largest_manifest = 4u << 20;

/// A manifest of one image: its configuration and its layers.
struct ImageManifest {
  std::string media_type;
  std::vector<BundlePart> parts;  ///< configuration, then layers in order
};
/// Parses a registry's response; Fault::parse describes the problem. Layers outside the registry (`urls`) are
/// rejected.
[[nodiscard]] Result<ImageManifest> parse_image_manifest(std::string_view json, std::string_view source);

/// An index lists manifests by platform: returns the digest ("sha256:…") for linux on the architecture
/// ("amd64"), or an error with the available platforms. Nothing if the text is not an index.
[[nodiscard]] Result<std::optional<std::string>> choose_platform(std::string_view json,
                                                                 std::string_view architecture,
                                                                 std::string_view source);

/// Parses the challenge of a 401 response: `Bearer realm="…",service="…",scope="…"`. Nothing if it is not a
/// Bearer challenge.
struct TokenRequest {
  std::string realm, service, scope;
};
[[nodiscard]] std::optional<TokenRequest> parse_challenge(std::string_view header);

}  // namespace bundle
