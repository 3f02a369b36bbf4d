# shellcheck shell=bash
# Which scripts run first where the time does not suffice for all. $GPUADM_CACHE/LEDGER has a file for each that passed here.

# passed_now LEDGER NAME: records that it passed.
passed_now() { mkdir -p "$GPUADM_CACHE/$1" && touch "$GPUADM_CACHE/$1/$(basename "$2" .sh)"; }

# in_turn LEDGER FILE...: the scripts that have never passed here, then the others, the longest ago first. The first group is in an order
# that each commit changes, so that runs on new machines do not all start with the same scripts.
in_turn() {
  local ledger=$1 file commit
  shift
  commit=$(git rev-parse HEAD 2>/dev/null || date +%F)
  for file in "$@"; do
    printf '%s %s %s\n' "$(stat -c %Y "$GPUADM_CACHE/$ledger/$(basename "$file" .sh)" 2>/dev/null || echo 0)" \
      "$(cksum <<<"$commit $file" | cut -d' ' -f1)" "$file"
  done | sort -n -k1,1 -k2,2 | cut -d' ' -f3
}
