#pragma once

#include "gpuadm/base/error.hpp"

#include <string>
#include <string_view>

namespace base {

/// "registry.k8s.io/pause:3.9", "ghcr.io/a/b@sha256:…"
struct ImageReference {
  std::string registry, repository;
  std::string tag;     ///< may be empty if there is a digest
  std::string digest;  ///< "sha256:…", or empty
};
/// Every name of a container image that gpuadm is given. Docker's short names are accepted: "nginx" is
/// docker.io/library/nginx:latest. Fault::usage says what is wrong. The grammar, of whose digests only
/// SHA-256 is accepted: https://pkg.go.dev/github.com/distribution/reference
[[nodiscard]] Result<ImageReference> parse_image_reference(std::string_view text);
/// "docker.io/library/nginx:latest", "ghcr.io/a/b@sha256:…": with a digest, the tag is omitted. This is the
/// name that containerd's CRI uses, whatever a pod calls the image:
/// https://pkg.go.dev/github.com/distribution/reference#ParseDockerRef
[[nodiscard]] std::string full_name(const ImageReference& image);

}  // namespace base
