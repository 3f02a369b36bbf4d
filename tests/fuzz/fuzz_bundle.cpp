// What comes with a bundle or from a registry, by the first byte: a manifest, an image's
// manifest, a challenge. A manifest that was read and is written again reads back as the same.
#include "gpuadm/base/debian_version.hpp"
#include "gpuadm/base/image_reference.hpp"
#include "gpuadm/bundle/debian.hpp"
#include "gpuadm/bundle/image.hpp"

#include "target.hpp"

#include <algorithm>
#include <cstdlib>

namespace {

void manifest(std::string_view text) {
  const auto bundle = bundle::parse_bundle(text, "input");
  if (!bundle) return;
  const std::string written = bundle::manifest_of(*bundle);
  const auto again = bundle::parse_bundle(written, "again");
  if (!again || bundle::manifest_of(*again) != written) std::abort();
}

void packages(std::string_view text) {
  bundle::debian::Index index;
  if (!index.add(std::string(text), "https://host", "input")) return;
  for (const char* name : {"dkms", "make", "x"})
    if (const auto* package = index.newest(name, "")) {
      (void)index.closure({package});
      (void)bundle::debian::stanza_with(*package, "file");
    }
}

/// Whichever is asked first.
void versions(std::string_view text) {
  const std::string_view a = text.substr(0, text.find(' ')),
                         b = text.substr(std::min(a.size() + 1, text.size()));
  const int one = base::compare_debian_versions(a, b), other = base::compare_debian_versions(b, a);
  if ((one < 0) != (other > 0) || (one == 0) != (other == 0)) std::abort();
}

}  // namespace

void try_input(std::string_view input) {
  if (input.empty()) return;
  const std::string_view text = input.substr(1);
  switch (input[0]) {
    case 'm':
      return manifest(text);
    case 'd':
      return packages(text);
    case 'r':
      (void)bundle::debian::parse_release(bundle::debian::signed_text(text), "input");
      return;
    case 'v':
      return versions(text);
    case 'i':
      (void)bundle::parse_image_manifest(text, "input");
      (void)bundle::choose_platform(text, "amd64", "input");
      return;
    default:
      (void)bundle::parse_challenge(text);
      (void)base::parse_image_reference(text);
  }
}
