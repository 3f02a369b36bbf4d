#!/usr/bin/env bash
# Lines of Markdown have at most 120 characters.
#   tests/rules/lines.sh [--fix] [TREE]     --fix: breaks the lines of paragraphs and list items that have longer ones
# Excepted: tables and headings, which are one line each; code, whose lines mean something; a word, a link's address or code between
# backquotes, which are not broken; and Chinese, where a line break is shown as a blank.
set -euo pipefail
fix=0
[ "${1:-}" != --fix ] || { fix=1 && shift; }
cd "${1:-$(dirname "$0")/../..}"
{ git ls-files -co --exclude-standard '*.md' 2>/dev/null || find . -name '*.md' -printf '%P\n'; } | sort | perl -CS -e '
  use strict;
  use warnings;
  my ($fix, $most, $bad, $read) = ($ARGV[0], 120, 0, 0);
  # Words that stay together: code between backquotes, and what would begin a list, a heading, a table or a quotation as the first of a line.
  sub words_of {
    my ($text) = @_;
    my @words;
    while ($text =~ /\G\s*((?:(`+)(?!`).*?(?<!`)\g2(?!`)|[^\s`]|`+)+)/gc) {
      my $word = $1;
      if (@words && $word =~ /^(?:[-+*=>|]|#{1,6}$|\d+[.)]$)/) { $words[-1] .= " $word" } else { push @words, $word }
    }
    return @words;
  }
  # A paragraph in lines: the first after $first, the others after $others.
  sub wrapped {
    my ($first, $others, @words) = @_;
    my ($line, @lines) = ($first . shift @words);
    for (@words) {
      if (length($line) + 1 + length > $most) { push @lines, $line; $line = $others . $_ } else { $line .= " $_" }
    }
    return (@lines, $line);
  }
  # One paragraph: its lines, without a newline, and the number of the first.
  sub paragraph {
    my ($file, $number, @lines) = @_;
    return @lines unless grep { length > $most } @lines;
    my ($first) = $lines[0] =~ /^((?:\s*>)*\s*(?:(?:[-*+]|\d+[.)]) +)?)/;
    (my $others = $first) =~ s/[^>\s]/ /g;
    my @texts = @lines;
    $texts[0] = substr $texts[0], length $first;
    s/^(?:\s*>)*\s*// for @texts;
    my @broken = wrapped($first, $others, words_of(join " ", @texts));
    if (grep { /(?:  |\\)$/ } @lines[0 .. $#lines - 1]) { @broken = @lines }  # a line break that is meant
    return @broken if $fix;
    # Without --fix, a line is too long if it could have been broken.
    for (0 .. $#lines) {
      next if length($lines[$_]) <= $most;
      my @parts = wrapped($_ ? $others : $first, $others, words_of(substr $lines[$_], length($_ ? $others : $first)));
      next if @parts < 2;
      print "$file:", $number + $_, ": ", length($lines[$_]), " characters, at most $most: run tests/rules/lines.sh --fix\n";
      $bad = 1;
    }
    return @lines;
  }
  while (my $file = <STDIN>) {
    chomp $file;
    next if $file =~ /\.zh-CN\.md$/ || !-f $file;
    open my $in, "<:utf8", $file or die "$file: $!\n";
    $read++;
    chomp(my @lines = <$in>);
    my ($fence, $matter, $indent, @out, @open) = ("", 0, 0);
    my $begun = 0;
    my $close = sub { push @out, paragraph($file, $begun, @open) if @open; @open = () };
    for my $i (0 .. $#lines) {
      my $line = $lines[$i];
      if ($i == 0 && $line eq "---") { $matter = 1; push @out, $line; next }
      if ($matter) { $matter = 0 if $line eq "---"; push @out, $line; next }
      if ($fence) { push @out, $line; $fence = "" if $line =~ /^\s*\Q$fence\E/; next }
      if ($line =~ /^\s*(`{3,}|~{3,})/) { $close->(); $fence = $1; push @out, $line; next }
      my $item = $line =~ /^(\s*(?:[-*+]|\d+[.)]) +)/ ? length $1 : 0;
      my ($blanks) = $line =~ /^( *)/;
      if ($line =~ /^\s*$/) { $close->(); push @out, $line; next }
      $indent = 0 if !@open && !$item && $blanks eq "";
      # Tables, headings, HTML, rules, references, and code that is indented.
      if ($line =~ /^\s*(?:\||#{1,6} |<|-{3,}$|={3,}$|\[[^\]]+\]:)/ || (!@open && length($blanks) >= $indent + 4)) { $close->(); push @out, $line; next }
      if ($item) { $close->(); $indent = $item }
      $begun = $i + 1 unless @open;
      push @open, $line;
    }
    $close->();
    if ($fix && join("\n", @out) ne join("\n", @lines)) {
      open my $to, ">:utf8", $file or die "$file: $!\n";
      print $to map { "$_\n" } @out;
    }
  }
  if (!$read) { print "no Markdown file found\n"; $bad = 1 }
  exit $bad;
' "$fix"
