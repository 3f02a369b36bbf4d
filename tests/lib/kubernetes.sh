# shellcheck shell=bash disable=SC2154,SC2034
# The Kubernetes that the lab runs, as its bundle says: tests name no version and no image themselves. Behind tests/e2e/common.

version_of() { sed -n 's/^kubernetes: "\(.*\)"/\1/p' "$1/manifest.yaml"; }                      # BUNDLE: 1.20.2
kubernetes_version() { version_of "$bundle"; }
kubernetes_minor() { kubernetes_version | cut -d. -f1-2; }                                   # 1.20
kubernetes_is_at_least() { [ "$(kubernetes_version | cut -d. -f2)" -ge "${1#1.}" ]; }        # MINOR, as 1.24

# image_of NAME: the reference of the bundle's images/NAME.tar.
image_of() { tar -xOf "$bundle/images/$1.tar" manifest.json | sed 's/.*"RepoTags":\["\([^"]*\)".*/\1/'; }
has_image() { [ -e "$bundle/images/$1.tar" ]; }

# skip WHY: this test does not apply; tests/run counts and shows it.
skip() { printf 'skip: %s\n' "$*" && exit 77; }
# leaves_out WHY: a part of it does not.
leaves_out() { printf 'left out: %s\n' "$*"; }

# Sets $newer to a bundle of the next patch release.
needs_next_bundle() {
  newer=$(lab bundle --next) && return 0
  [ -n "${GPUADM_LAB_BUNDLE:-}" ] || fail "no bundle of the next patch release could be built"
  skip "there is no bundle of the next patch release of $(kubernetes_version): see GPUADM_LAB_BUNDLE_NEXT"
}

# Whether the kubelet of the lab can use Docker without cri-dockerd: up to Kubernetes 1.23.
has_dockershim() { ! kubernetes_is_at_least 1.24; }
no_dockershim() { printf 'Kubernetes %s has no dockershim\n' "$(kubernetes_version)"; }
