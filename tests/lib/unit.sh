# shellcheck shell=bash
# The unit tests in as many processes as there are cores.

# unit_tests BINARY SECONDS FOLDER: runs every test case once, in slices, and prints "PASSED FAILED". FOLDER gets a log for each slice.
# Fails if a slice fails, ends before its last case, or takes more than SECONDS. Slices are small, so that SECONDS ends a test case that
# hangs, and not many that run on a slow machine.
unit_tests() {
  local binary=$1 seconds=$2 folder=$3 count slices=120 size status=0
  count=$("$binary" --count | sed -nE 's/^\[doctest\] unskipped test cases passing the current filters: ([0-9]+)$/\1/p')
  [ "${count:-0}" -gt 0 ] || { echo '0 1' && return 1; }
  size=$(((count + slices - 1) / slices))
  mkdir -p "$folder"
  # shellcheck disable=SC2016 # expanded by the inner shell
  seq 1 "$size" "$count" | xargs -P "$(nproc)" -I FIRST timeout -k 10 "$seconds" sh -c \
    '"$0" --duration --first="$1" --last=$(($1 + $2 - 1)) >"$3/$1.log" 2>&1 </dev/null' "$binary" FIRST "$size" "$folder" || status=1
  # The summary of a slice counts the cases of the others as passed, so those that ran are counted by their durations.
  cat "$folder"/*.log | awk '/^[0-9]+\.[0-9]+ s: / { ran++ }
    /^\[doctest\] test cases: / { gsub(/[^0-9 ]/, " "); failed += $3 }
    END { print ran - failed, failed + 0 }' >"$folder/sum"
  cat "$folder/sum"
  [ "$(cut -d' ' -f1 "$folder/sum")" = "$count" ] && [ "$status" = 0 ]
}

# unit_failures FOLDER: the failures in the logs, and the ends of the logs without a summary.
unit_failures() {
  local log
  for log in "$1"/*.log; do
    if ! grep -q '^\[doctest\] test cases: ' "$log"; then
      printf '%s\n' "--- the end of the slice that starts with test ${log##*/}" && tail -n 60 "$log"
    elif ! grep -qE '^\[doctest\] test cases: .* 0 failed' "$log"; then
      tail -n 100 "$log"
    fi
  done
}

# unit_left_out FOLDER: how many test cases did not run, by reason: "COUNT WHY" lines.
unit_left_out() {
  cat "$1"/*.log | awk '/^TEST CASE:/ { name = $0 }
    sub(/^.* MESSAGE: left out: /, "") && !seen[name, $0]++ { count[$0]++ }
    END { for (why in count) print count[why], why }' | sort -k2
}
