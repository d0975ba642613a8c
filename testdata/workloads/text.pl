# For miniperl, which has no modules: sorting, regular expressions, hashes,
# closures, references, formats.
my (%count, %pair, @lines, $changed);
open my $in, '<', $ARGV[0] or die "no input";
while (my $line = <$in>) {
    chomp $line;
    my ($number, @words) = split / /, $line;
    my $value = pop @words;
    $count{$_}++ for @words;
    $pair{"$words[$_ - 1] $words[$_]"} += $value for 1 .. $#words;
    if ($line =~ /\b(gr(?:aph|een)|cl\w+)\s+(\w+?)(e?)\s.*?(\d+)\.?(\d*)$/) { $count{"<$1-$2>"} += $4 % 10 + length $5 }
    (my $copy = $line) =~ s/([aeiou])([^aeiou ])/$2\U$1/g && $changed++;
    $copy =~ tr/a-m/A-M/;
    push @lines, [$number, $copy, $value, scalar reverse $copy];
}
printf "%s %d\n", $_, $count{$_} for sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
printf "%-20s %12.2f\n", $_, $pair{$_} for (sort { $pair{$b} <=> $pair{$a} || $a cmp $b } keys %pair)[0 .. 40];
my @sorted = sort { $a->[2] <=> $b->[2] || $b->[3] cmp $a->[3] || $a->[0] <=> $b->[0] } @lines;
print join("|", @{$sorted[$_ * {{97|3}}]}[0 .. 2]), "\n" for 0 .. 200;
my %by = map { $_ => [] } 0 .. 9;
push @{$by{length($_->[1]) % 10}}, $_->[0] for @lines;
print "$_: ", scalar @{$by{$_}}, " ", unpack("%32C*", join ",", @{$by{$_}}), "\n" for sort keys %by;

sub counter { my $n = shift; return sub { $n += $_[0] // 1; $n = $n % 1009 * 3 } }
my @counters = map { counter($_) } 1 .. 50;
my $sum = 0;
for my $round (1 .. {{6000|100}}) { $sum += $counters[$_]->($round) for grep { ($_ + $round) % 3 } 0 .. 49 }
sub fib { my $n = shift; $n < 2 ? $n : fib($n - 1) + fib($n - 2) }
printf "%d %d %d %.9f %e %s %b %o %x %s\n", $changed, $sum, fib({{20|10}}), atan2(1, 2) * exp(1.5), $sum / 7, "x" x 5, 37, 64, 48879,
  join ",", map { sprintf "%03d", $_ * $_ % 1000 } 1 .. 10;
my $sieve = "\1" x {{400000|8000}};
for (my $i = 2; $i * $i < {{400000|8000}}; $i++) {
    next unless vec $sieve, $i, 8;
    for (my $j = $i * $i; $j < {{400000|8000}}; $j += $i) { vec($sieve, $j, 8) = 0 }
}
print "primes: ", ($sieve =~ tr/\1//) - 2, "\n";
print pack("A5 n N a*", "order", 4711, 31337, "phi") eq "order\x12\x67\0\0\x7a\x69phi" ? "packed\n" : "not packed\n";
