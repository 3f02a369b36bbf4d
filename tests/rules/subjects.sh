#!/usr/bin/env bash
# The subject of each commit since BASE has at most 72 characters.
#   tests/rules/subjects.sh [REPOSITORY [BASE]]
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"
BASE=${2:-c02b71ebe3bd62cd6b284a0818c26b1c5470fa16}
git merge-base --is-ancestor "$BASE" HEAD 2>/dev/null || { echo "skip: no git history since $BASE" && exit 77; }
git -c i18n.logOutputEncoding=UTF-8 log --format='%h %s' "$BASE..HEAD" | perl -CS -ne '
  chomp;
  my ($commit, $subject) = split / /, $_, 2;
  if (length $subject > 72) { print "$commit: the subject has " . length($subject) . " characters, at most 72: $subject\n"; $bad = 1 }
  END { $? = $bad ? 1 : 0 }'
