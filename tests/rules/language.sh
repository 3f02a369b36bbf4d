#!/usr/bin/env bash
# Text and names use none of the forms in tests/rules/language.tsv. language.sh TREE: checks that tree, which need not be a repository.
set -euo pipefail
forms=$(readlink -f "${BASH_SOURCE[0]}") && forms=${forms%.sh}.tsv
cd "${1:-$(dirname "$0")/../..}"
# Not sentences of this project: recorded output of other programs, the form list itself, and Chinese.
skipped='^(LICENSE|.*\.zh-CN\.md|data/recordings/.*|tests/recordings/.*|tests/fuzz/corpus/.*|tests/rules/language\.tsv)$'
{ git ls-files -co --exclude-standard 2>/dev/null || find . -type f -printf '%P\n'; } |
  grep -E '\.(md|yaml|sh|cpp|hpp|c|go|py|cmake|txt|json)$|^tests/(run|tidy)$|^packaging/[a-z]+$' | grep -vE "$skipped" | sort -u |
  perl -CS -e '
    use strict;
    use warnings;
    my (@forms, @exempt);
    open my $list, "<:utf8", $ARGV[0] or die "$ARGV[0]: $!\n";
    while (<$list>) {
      chomp;
      my ($first, @rest) = split /\t/;
      next if !defined $first || $first eq "" || $first =~ /^#/;
      if ($first eq "exempt") { @rest == 3 or die "language.tsv:$.: exempt: path, form and reason\n"; push @exempt, [@rest, 0] }
      else { @rest == 2 or die "language.tsv:$.: form, what to say, and an example\n"; push @forms, [qr/(?<!\w)(?:$first)(?!\w)/i, $rest[0]] }
    }
    my $any = join "|", map { $_->[0] } @forms;
    $any = qr/$any/;
    my $bad = 0;
    while (my $file = <STDIN>) {
      chomp $file;
      open my $text, "<:utf8", $file or next;
      no warnings "utf8";
      while (my $line = <$text>) {
        next if $line !~ $any;
        for my $form (@forms) {
          while ($line =~ /($form->[0])/g) {
            my $found = $1;
            my ($reason) = grep { $file =~ /^(?:$_->[0])$/ && ($_->[1] eq "*" || lc $found eq lc $_->[1]) } @exempt;
            if ($reason) { $reason->[3]++; next }
            print "$file:$.: \"$found\": say $form->[1]\n";
            $bad = 1;
          }
        }
      }
    }
    for (@exempt) { if (!$ARGV[1] && !$_->[3]) { print "language.tsv: nothing needs the exemption of \"$_->[1]\" in $_->[0]\n"; $bad = 1 } }
    exit $bad;
  ' "$forms" "${1:-}"
