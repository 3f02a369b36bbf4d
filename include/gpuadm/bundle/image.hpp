#pragma once

#include "gpuadm/bundle/bundle.hpp"

#include <string>
#include <string_view>
#include <vector>

/// Container images as registries have them: https://github.com/opencontainers/distribution-spec and
/// image-spec.
namespace bundle {

/// The distribution specification lets registries refuse manifests above this.
constexpr std::size_t largest_manifest = 4u << 20;

/// "registry.k8s.io/pause:3.9", "ghcr.io/a/b@sha256:…"
struct ImageReference {
  std::string registry, repository;
  std::string tag;     ///< may be empty where there is a digest
  std::string digest;  ///< "sha256:…", or empty
};
/// Docker's shorthand is understood: "nginx" is docker.io/library/nginx:latest. Fault::usage for what is
/// none.
[[nodiscard]] Result<ImageReference> parse_reference(std::string_view text);
/// "docker.io/library/nginx:latest", "ghcr.io/a/b@sha256:…": a digest goes without a tag. The name that
/// containerd's CRI gives whatever a pod calls the image:
/// https://pkg.go.dev/github.com/distribution/reference#ParseDockerRef
[[nodiscard]] std::string full_name(const ImageReference& image);

/// A manifest of one image: its configuration and its layers.
struct ImageManifest {
  std::string media_type;
  std::vector<BundlePart> parts;  ///< configuration, then layers in order
};
/// Reads what a registry says; Fault::parse names what is wrong. Layers elsewhere (`urls`) are refused.
[[nodiscard]] Result<ImageManifest> parse_image_manifest(std::string_view json, std::string_view source);

/// An index lists manifests by platform: the digest ("sha256:…") for linux on the architecture ("amd64"), or
/// an error that names those which there are. Nothing where the text is no index.
[[nodiscard]] Result<std::optional<std::string>> choose_platform(std::string_view json,
                                                                 std::string_view architecture,
                                                                 std::string_view source);

/// What an answer of 401 asks for: `Bearer realm="…",service="…",scope="…"`. Nothing where it is no Bearer
/// challenge.
struct TokenRequest {
  std::string realm, service, scope;
};
[[nodiscard]] std::optional<TokenRequest> parse_challenge(std::string_view header);

}  // namespace bundle
