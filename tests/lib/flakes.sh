# shellcheck shell=bash
# The ledger of flakes: tests that passed only on the second attempt. Expects $GPUADM_CACHE.
#
# A line is DATE TEST RESULT. `flaky`: the test passed only on the second attempt. `passed`: a test in the ledger passed on the first
# attempt. After three of these in a row the test is removed from the ledger.
ledger=$GPUADM_CACHE/flakes

# flake_record TEST flaky|passed
flake_record() {
  [ "$2" = flaky ] || grep -qsF " $1 " "$ledger" || return 0
  mkdir -p "$GPUADM_CACHE"
  printf '%s %s %s\n' "$(date +%F)" "$1" "$2" >>"$ledger"
  [ "$(awk -v test="$1" '$2 == test { n = $3 == "passed" ? n + 1 : 0 } END { print n + 0 }' "$ledger")" -lt 3 ] || {
    awk -v test="$1" '$2 != test' "$ledger" >"$ledger.new"
    mv "$ledger.new" "$ledger"
  }
}

# flakes COUNT: the tests with at least so many flakes, with their count and the last date.
flakes() {
  [ -e "$ledger" ] || return 0
  awk -v least="$1" '$3 == "flaky" { n[$2]++; last[$2] = $1 }
    END { for (test in n) if (n[test] >= least) printf "%s: %d flakes, last on %s\n", test, n[test], last[test] }' "$ledger" | sort
}
