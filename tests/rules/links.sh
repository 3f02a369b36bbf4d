#!/usr/bin/env bash
# Every relative link in a Markdown file leads to something in the tree, and its anchor to a heading or an <a id="..."> of that file.
#   tests/rules/links.sh [TREE [LEAST]]     TREE need not be a repository; fewer than LEAST (100) links are an error
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"
{ git ls-files '*.md' 2>/dev/null || find . -name '*.md' -printf '%P\n'; } | perl -CS -e '
  use strict;
  use warnings;
  use File::Basename;
  my %anchors;
  # Lines of a file with their numbers, without code.
  sub text_of {
    my ($file) = @_;
    open my $in, "<:utf8", $file or return;
    my ($code, @lines) = 0;
    while (<$in>) {
      if (/^\s*```/) { $code = !$code; next }
      push @lines, [$., $_] unless $code;
    }
    return @lines;
  }
  # As GitHub and cmark make them of headings.
  sub anchors_of {
    my ($file) = @_;
    return $anchors{$file} if $anchors{$file};
    my (%all, %times);
    for (text_of($file)) {
      my $line = $_->[1];
      $all{$1} = 1 while $line =~ /<a id="([^"]+)">/g;
      next unless $line =~ /^#+ +(.*?)\s*$/;
      my $name = lc $1;
      $name =~ s/<[^>]*>|\]\([^)]*\)//g;
      $name =~ s/[^\w\- ]//g;
      $name =~ s/ /-/g;
      my $again = $times{$name}++;
      $all{$again ? "$name-$again" : $name} = 1;
    }
    return $anchors{$file} = \%all;
  }
  my ($bad, $read) = (0, 0);
  while (my $file = <STDIN>) {
    chomp $file;
    for (text_of($file)) {
      my ($number, $line) = @$_;
      while ($line =~ /\]\(([^) ]+)\)/g) {
        my $link = $1;
        next if $link =~ /^(https?|mailto):/;
        $read++;
        my ($path, $anchor) = split /#/, $link, 2;
        my $target = $path eq "" ? $file : dirname($file) . "/$path";
        if (!-e $target) { print "$file:$number: $link does not exist\n"; $bad = 1 }
        elsif (defined $anchor && $target =~ /\.md$/ && !anchors_of($target)->{$anchor}) { print "$file:$number: $link: no such anchor\n"; $bad = 1 }
      }
    }
  }
  if ($read < $ARGV[0]) { print "only $read links found\n"; $bad = 1 }
  exit $bad;
' "${2:-100}"
