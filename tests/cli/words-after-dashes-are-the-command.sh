#!/usr/bin/env bash
# The words after -- are the command of a job, also where the value of an option has the name of a command.
. "$(dirname "$0")/common"

mkdir status
for words in '' '--assets status'; do
  # shellcheck disable=SC2086 # words
  exits 0 gpuadm train $words run x --image docker.io/library/y:1 -o yaml --offline -- echo hi
  says "- echo"
  says "- hi"
done
