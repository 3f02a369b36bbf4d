# shellcheck shell=sh disable=SC2034,SC2154
# Prints the beginnings of the files of a model on a storage. Variables: storage_name, storage_kind, storage_place; model_folder: in the folder of
# the storage, or empty; model_files: names in it, in lines, or empty for config.json, the index and all weights; json_bytes, index_bytes,
# header_bytes and gguf_bytes: at most so much of a file. For each file a line "file SIZE LENGTH NAME", then LENGTH bytes; at the end a line
# "end". Users may own folders of a storage, so a folder is entered before it is inspected, no link is followed, and only regular files
# are opened, without waiting. Exit status 3: refused; 4: the storage is not mounted here, or the folder does not exist.

# shellcheck source=playbooks/prelude.sh
[ "${prelude_is_here:-}" = yes ] || . "$(dirname "$0")/../prelude.sh"
# shellcheck source=playbooks/storage.sh
[ "${storage_is_here:-}" = yes ] || . "$(dirname "$0")/../storage.sh"
storage_seconds=15
most_files=1000

missing() {
  say "$*"
  exit 4
}
# piece NAME BYTES: the beginning of a file.
piece() { storage_do dd if="./$1" iflag=nofollow,nonblock,fullblock,count_bytes bs=65536 count="$2" 2>/dev/null; }

# model_print NAME: prints one file.
model_print() {
  [ ! -L "./$1" ] || die "$storage_at/$1 is a symbolic link: copy the model with its files, such as cp -rL FOLDER COPY"
  storage_exists "./$1" || missing "$storage_at/$1 does not exist"
  [ -f "./$1" ] || die "$storage_at/$1 is not a regular file"
  gpuadm_size=$(storage_do stat -c %s "./$1") || die "cannot read $storage_at/$1"
  case $1 in
    *.gguf) gpuadm_most=$gguf_bytes ;;
    *.safetensors)
      # The header after its length, of 8 bytes; a wrong one is shown to gpuadm, which names it.
      gpuadm_most=$(piece "$1" 8 | od -An -v -tu8)
      gpuadm_most=${gpuadm_most##* }
      if [ "${#gpuadm_most}" -gt 12 ] || [ "${gpuadm_most:-0}" -gt "$header_bytes" ]; then gpuadm_most=4096; else gpuadm_most=$((${gpuadm_most:-0} + 8)); fi
      [ "$gpuadm_most" -ge 4096 ] || gpuadm_most=4096
      ;;
    *.index.json) gpuadm_most=$index_bytes ;;
    *) gpuadm_most=$json_bytes ;;
  esac
  [ "$gpuadm_size" -ge "$gpuadm_most" ] || gpuadm_most=$gpuadm_size
  printf 'file %s %s %s\n' "$gpuadm_size" "$gpuadm_most" "$1"
  piece "$1" "$gpuadm_most" || die "cannot read $storage_at/$1"
}

storage_hold || missing "$storage_place does not exist on this host: the storage $storage_name is not mounted; run gpuadm storage list"
gpuadm_rest=$model_folder
while [ -n "$gpuadm_rest" ]; do
  gpuadm_part=${gpuadm_rest%%/*}
  gpuadm_rest=${gpuadm_rest#"$gpuadm_part"}
  gpuadm_rest=${gpuadm_rest#/}
  storage_enter "$gpuadm_part" anybody || missing "$storage_at/$gpuadm_part does not exist"
done

if [ -z "$model_files" ]; then
  for gpuadm_file in ./config.json ./hf_quant_config.json ./model.safetensors.index.json ./*.safetensors ./*.gguf; do
    if [ -e "$gpuadm_file" ] || [ -L "$gpuadm_file" ]; then model_files="$model_files${gpuadm_file#./}$gpuadm_newline"; fi
  done
fi
[ -n "$model_files" ] || missing "$storage_at has no model: neither config.json nor .safetensors or .gguf files"
gpuadm_count=0
while IFS= read -r gpuadm_file; do
  [ -n "$gpuadm_file" ] || continue
  gpuadm_count=$((gpuadm_count + 1))
  [ "$gpuadm_count" -le "$most_files" ] || die "$storage_at has more than $most_files files of a model"
  model_print "$gpuadm_file" </dev/null
done <<END
$model_files
END
echo end
