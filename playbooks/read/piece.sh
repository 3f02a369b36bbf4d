# shellcheck shell=sh disable=SC2154
# Prints one piece of a file. Variables: path; size, of a piece in bytes; number, of the piece, from 0.
dd if="$path" bs="$size" skip="$number" count=1 2>/dev/null
