# shellcheck shell=sh disable=SC2154
# Packs the folder $name in $parent into the archive $file, without the names of users. Runs on the machine that runs gpuadm.
umask 077
tar --create --gzip --file "$parent/packed" --owner=0 --group=0 --numeric-owner --sort=name --directory "$parent" "$name" &&
  mv -- "$parent/packed" "$file"
