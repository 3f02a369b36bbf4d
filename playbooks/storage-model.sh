# shellcheck shell=sh disable=SC2034,SC2154
# Copies the files of a model to the folder of a claim on a storage. Variables: action (look, receive), storage_name, storage_kind,
# storage_place, namespace, name (of the claim), model_folder (in the claim; empty: the claim itself). look: files, a line "SHA256 SIZE NAME"
# for each; prints "free BYTES", and for each file "whole NAME", "part BYTES NAME" or "missing NAME". receive: file_name, file_sum and
# file_size; appends the standard input to what was received before, and gives the file its name once it has its size and its sum. Users may
# own the folder of a claim: it is entered before it is used, and no link is followed. Exit status 3: refused; 4: the storage is not mounted
# here, or has no such claim.

# shellcheck source=playbooks/prelude.sh
[ "${prelude_is_here:-}" = yes ] || . "$(dirname "$0")/prelude.sh"
# shellcheck source=playbooks/storage.sh
[ "${storage_is_here:-}" = yes ] || . "$(dirname "$0")/storage.sh"
umask 022
exec 3<&0 </dev/null
sum_seconds=7200

model_missing() {
  say "$*"
  exit 4
}
# model_part SUM NAME: the name of a file that is not complete.
model_part() {
  gpuadm_short=$(printf %s "$1" | cut -c1-16)
  printf '.%s.%s.part' "$2" "$gpuadm_short"
}
model_size() { storage_do stat -c %s "./$1"; }
# model_is_file NAME: fails if there is none; a link or a folder is refused.
model_is_file() {
  [ ! -L "./$1" ] || die "$storage_at/$1 is a symbolic link: remove it, then run again"
  storage_exists "./$1" || return 1
  [ -f "./$1" ] || die "$storage_at/$1 is not a regular file: remove it, then run again"
}
# dd does not follow a link that the owner of the folder may have put there meanwhile; a FIFO ends with the limit.
model_has_sum() { [ "$(limit_of "$sum_seconds" dd if="./$1" iflag=nofollow bs=1048576 status=none | sha256sum | cut -c1-64)" = "$2" ]; }

model_look() {
  printf 'free %s\n' "$(storage_do df -Pk . 2>/dev/null | awk 'NR == 2 { printf "%.0f", $4 * 1024 }')"
  while read -r gpuadm_sum gpuadm_bytes gpuadm_file; do
    [ -n "$gpuadm_file" ] || continue
    gpuadm_half=$(model_part "$gpuadm_sum" "$gpuadm_file")
    if model_is_file "$gpuadm_file" && [ "$(model_size "$gpuadm_file")" = "$gpuadm_bytes" ] && model_has_sum "$gpuadm_file" "$gpuadm_sum"; then
      printf 'whole %s\n' "$gpuadm_file"
    elif model_is_file "$gpuadm_half"; then
      printf 'part %s %s\n' "$(model_size "$gpuadm_half")" "$gpuadm_file"
    else
      printf 'missing %s\n' "$gpuadm_file"
    fi
  done <<END
$files
END
}

model_receive() {
  gpuadm_half=$(model_part "$file_sum" "$file_name")
  # One that is too long is not a beginning of this file.
  if model_is_file "$gpuadm_half" && [ "$(model_size "$gpuadm_half")" -gt "$file_size" ]; then storage_write rm -f "./$gpuadm_half"; fi
  dd of="./$gpuadm_half" oflag=append,nofollow conv=notrunc bs=1048576 iflag=fullblock status=none <&3 ||
    die "cannot write $storage_at/$gpuadm_half: $(storage_do df -Ph . | tail -n 1)"
  [ "$(model_size "$gpuadm_half")" = "$file_size" ] || die "$storage_at/$file_name was not received as a whole: run again to continue"
  model_has_sum "$gpuadm_half" "$file_sum" || {
    storage_do rm -f "./$gpuadm_half"
    die "$storage_at/$file_name arrived damaged: run again"
  }
  storage_write mv -T "./$gpuadm_half" "./$file_name"
}

{ storage_hold_marker && storage_has id; } ||
  model_missing "$storage_place/gpuadm-$storage_name does not exist on this host: the share is not mounted; run gpuadm storage list"
! storage_exists ./removal || die "the storage $storage_name is being removed"
{ storage_enter claims && storage_enter "$namespace" && storage_enter "$name" anybody; } ||
  model_missing "the storage $storage_name has no claim $namespace/$name"
if [ -n "$model_folder" ]; then
  storage_enter "$model_folder" anybody || {
    storage_write mkdir -m 0755 "./$model_folder"
    storage_enter "$model_folder" anybody || die "cannot make the folder $storage_at/$model_folder"
  }
fi
case $action in
  look) model_look ;;
  receive) model_receive ;;
  *) die "unknown action: $action" ;;
esac
