# shellcheck shell=bash
# What is on a host, one line each, for a comparison before and after.

lab_snapshot() { # lab_snapshot NAME
  (lab_exec "${1:-}" sh -s) <"$LAB_HOME/host/snapshot.sh"
}
