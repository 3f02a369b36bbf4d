#!/usr/bin/env bash
# Names in C++ use none of the forms in tests/rules/names.tsv and tests/rules/language.tsv, whatever joins their words: locals, lambdas and
# functions of tests too. names.sh TREE: checks that tree, which need not be a repository.
set -euo pipefail
rules=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
cd "${1:-$rules/../..}"
{ find src include tests proof \( -name "*.cpp" -o -name "*.hpp" \) 2>/dev/null || :; } | sort |
  perl -e '
    use strict;
    use warnings;
    my @forms;
    for my $list (@ARGV) {
      open my $in, "<", $list or die "$list: $!\n";
      while (<$in>) {
        chomp;
        my ($form, $say) = split /\t/;
        next if !defined $say || $form eq "" || $form =~ /^#/ || $form eq "exempt";
        push @forms, [qr/(?<!\w)(?:$form)(?!\w)/i, $say];
      }
    }
    my ($bad, %known) = (0);
    while (my $file = <STDIN>) {
      chomp $file;
      open my $in, "<", $file or die "$file: $!\n";
      local $/;
      my $text = <$in>;
      # Literals and comments become blanks; lines stay.
      my $blank = sub { my $gone = shift; $gone =~ s/[^\n]//g; " $gone" };
      $text =~ s{(R"([^()\s\\]{0,16})\(.*?\)\2"|"(?:\\.|[^"\\\n])*"|(?<![\w])\x27(?:\\.|[^\x27\\\n])+\x27|//[^\n]*|/\*.*?\*/)}{$blank->($1)}gse;
      my $line = 1;
      while ($text =~ /(\n)|(?<!fs::)\b([A-Za-z_]\w*)/g) {
        if (defined $1) { $line++; next }
        my $name = $2;
        my $say = $known{$name} //= do {
          (my $words = $name) =~ s/([a-z0-9])([A-Z])/$1 $2/g;
          $words =~ s/[_\s]+/ /g;
          $words =~ s/^ | $//g;
          my ($found) = grep { lc($words) =~ $_->[0] } @forms;
          $found ? $found->[1] : "";
        };
        if ($say ne "") { print "$file:$line: $name: say $say\n"; $bad = 1 }
      }
    }
    exit $bad;
  ' "$rules/names.tsv" "$rules/language.tsv"
