# generate.pl KIND SIZE: writes the input of a workload to standard output; SIZE
# is full or small. The numbers are pseudo-random and the same everywhere.
use strict;
use warnings;

my $state = 1;

# random N: 0 .. N-1.
sub random {
    $state = ($state * 1103515245 + 12345) & 0x7fffffff;
    return ($state >> 8) % $_[0];
}

my ($kind, $small) = ($ARGV[0] // "", ($ARGV[1] // "") eq "small");
sub sized { return $_[$small] }

my @words = qw(tree graph clique order value block spill phi copy store load edge node colour register function);

# What looks like a source file, columns of numbers, and noise: data that
# compresses well, fairly and not at all. 12 MB, or 180 kB.
sub data {
    my $out = "";
    while (length $out < sized(8_000_000, 120_000)) {
        my ($a, $b, $c) = map { $words[random(random(16) + 1)] } 1 .. 3;
        my $n = random(100);
        $out .= "static int ${a}_$b(int $c, int count) {\n    for (int i = 0; i < count; i++) {\n"
          . "        if ($c->${b}[i] == $n) return ${c}_$a(i, $c);\n" if random(3) == 0;
        $out .= "        $c->$a += ${b}[i + $n]; /* the $a of the $c */\n" for 0 .. random(4);
        $out .= "    }\n    return $n;\n}\n\n" if random(3) == 0;
    }
    $out .= sprintf "%d the %s of %x\n", $_, $words[random(16)], random(4096) for 1 .. sized(100_000, 1_500);
    $out .= pack "n", random(65536) for 1 .. sized(750_000, 11_000);
    print $out;
}

# Lines of words and numbers for the languages that work on text. 4 MB, or 40 kB.
sub text {
    for my $line (1 .. sized(100_000, 1_000)) {
        print join(" ", $line, (map { $words[random(random(16) + 1)] } 1 .. 3 + random(4)), random(100_000) / 100), "\n";
    }
}

# Gradients, stripes, circles and a little noise.
sub image {
    my ($width, $height) = (sized(1600, 200), sized(1200, 150));
    print "P6\n$width $height\n255\n";
    for my $y (0 .. $height - 1) {
        my $row = "";
        for my $x (0 .. $width - 1) {
            my $ring = (($x - 700) ** 2 + ($y - 500) ** 2) >> 9 & 255;
            my $stripe = ($x + $y) % 97 < 40 ? 200 : 30;
            $row .= pack "C3", $ring, ($stripe + ($x >> 3)) & 255, ($y * 255 / $height + ($ring ^ $stripe) % 13) & 255;
        }
        print $row;
    }
}

# Three voices that rise and fall, as 16 bit samples: eighteen minutes at 8 kHz, or eight seconds.
sub sound {
    my @phase = (0, 0, 0);
    for my $block (1 .. sized(8640, 64)) {
        my @step = map { 200 + random(3000) } 0 .. 2;
        my $loud = 1 + random(4);
        my $out = "";
        for (1 .. 1000) {
            my $sum = 0;
            for my $voice (0 .. 2) {
                $phase[$voice] = ($phase[$voice] + $step[$voice]) & 65535;
                $sum += abs($phase[$voice] - 32768) - 16384;
            }
            $out .= pack "s<", ($sum >> 3) * $loud + random(200) - 100;
        }
        print $out;
    }
}

# Random 3-SAT near the threshold.
sub formula {
    my ($variables, $clauses) = (sized(250, 120), sized(1065, 511));
    print "p cnf $variables $clauses\n";
    for (1 .. $clauses) {
        my %chosen;
        $chosen{1 + random($variables)} = 1 while keys %chosen < 3;
        print join(" ", map { random(2) ? $_ : -$_ } sort { $a <=> $b } keys %chosen), " 0\n";
    }
}

# Ten pigeons in nine holes, or seven in six: unsatisfiable, and hard to see.
sub pigeons {
    my $holes = sized(9, 6);
    my $at = sub { $_[0] * $holes + $_[1] + 1 };
    my @clauses;
    for my $pigeon (0 .. $holes) {
        push @clauses, join " ", (map { $at->($pigeon, $_) } 0 .. $holes - 1), 0;
        for my $other (0 .. $pigeon - 1) {
            push @clauses, -$at->($pigeon, $_) . " " . -$at->($other, $_) . " 0" for 0 .. $holes - 1;
        }
    }
    printf "p cnf %d %d\n%s\n", ($holes + 1) * $holes, scalar @clauses, join "\n", @clauses;
}

# A long C program without headers that prints what its functions return.
sub program {
    my $functions = sized(12_000, 500);
    print "int printf(const char *, ...);\nstruct pair { int a; long long b; double c; };\n";
    for my $f (0 .. $functions - 1) {
        my @n = map { 1 + random(1000) } 0 .. 7;
        my $callee = $f ? "f" . random($f < 10 ? $f : 10) . "(a / 7, &local)" : "a";
        print <<"C";
static int f$f(int a, struct pair *p) {
    struct pair local = { a + $n[0], (long long)a * $n[1], a / 4.0 };
    int i, table[8] = { $n[0], $n[1], $n[2], $n[3] };
    for (i = 0; i < 4 + (a & 3); i++) {
        switch ((a ^ i) & 3) {
        case 0: local.a += table[i & 7] * $n[4]; break;
        case 1: local.b ^= (local.b << 3) + $n[5]; break;
        case 2: local.c = local.c * 0.5 + $n[6]; break;
        default: table[i & 3] -= local.a > $n[7] ? a : i;
        }
    }
    if (a > 2) local.a += $callee;
    p->a += local.a, p->b += local.b, p->c += local.c;
    return (int)local.b ^ local.a ^ table[a & 3];
}
C
    }
    print "static int (*all[])(int, struct pair *) = { ", join(", ", map { "f$_" } 0 .. $functions - 1), " };\n";
    print <<"C";
int main(void) {
    struct pair sum = { 0, 0, 0 };
    unsigned i, hash = 0;
    for (i = 0; i < $functions; i++) hash = hash * 31 + all[i](i % 1000, &sum);
    printf("%u %d %lld %.3f\\n", hash, sum.a, sum.b, sum.c);
    return 0;
}
C
}

my %kinds = (
    data => \&data, text => \&text, image => \&image, sound => \&sound,
    formula => \&formula, pigeons => \&pigeons, program => \&program,
);
binmode STDOUT;
($kinds{$kind} // die "usage: generate.pl " . join("|", sort keys %kinds) . " full|small\n")->();
