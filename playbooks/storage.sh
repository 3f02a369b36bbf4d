# shellcheck shell=sh disable=SC2034,SC2154
# What the steps of storage share; storage-mounts.sh, storage-marker.sh and storage-class.sh are loaded after it. A step has storages: a line for
# each storage of this host, columns apart by tabs, "-" for an empty one: name, kind, folder on the host, source, path in the source, user,
# options, "maker" on the host that makes the folder gpuadm-NAME. That folder is the marker: it is made on the share while the share is
# mounted, so a host on which the share is not mounted does not have it, and a pod that needs it does not start there.
#
#   gpuadm-NAME/id                  identifies the share
#   gpuadm-NAME/nodes/NODE          the id, as NODE has written it
#   gpuadm-NAME/clusters/DIGEST     a cluster that uses it
#   gpuadm-NAME/claims/SPACE/NAME   the files of a claim

storage_files=/etc/gpuadm/storage # configuration and keys of CephFS, for root only
storage_known=$gpuadm_home/storage # ids of the markers that were made from this host

# A server that does not answer must not block a step: every access to a share ends after 20s.
storage_do() { limit_of 20 "$@"; }

# storage_each FUNCTION: calls it for each storage; a failure ends the step, and so does one that was reported by storage_needed.
storage_each() {
  storage_left=no
  while IFS=$gpuadm_tab read -r storage_name storage_kind storage_place storage_source storage_path storage_user storage_options storage_maker; do
    [ -n "$storage_name" ] || continue
    storage_marker=$storage_place/gpuadm-$storage_name
    "$1" </dev/null
  done <<END
$(printf %s "$storages")
END
  [ "$storage_left" = no ] || exit 1
}
# storage_needed: the check of a step found work for it.
storage_needed() { storage_left=yes; }
storage_is_mounted_kind() { [ "$storage_kind" = nfs ] || [ "$storage_kind" = cephfs ]; }
