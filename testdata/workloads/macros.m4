dnl Recursion, strings, arithmetic, regular expressions, diversions.
define(`fib', `ifelse(eval($1 < 2), 1, $1, `eval(fib(eval($1 - 1)) + fib(eval($1 - 2)))')')dnl
define(`ackermann', `ifelse($1, 0, `incr($2)', $2, 0, `ackermann(decr($1), 1)',
    `ackermann(decr($1), ackermann($1, decr($2)))')')dnl
define(`hanoi', `ifelse($1, 0, , `hanoi(decr($1), $2, $4, $3)dnl
define(`moves', incr(moves))hanoi(decr($1), $4, $3, $2)')')dnl
define(`moves', 0)dnl
define(`for', `ifelse(eval($2 > $3), 1, , `pushdef(`$1', $2)$4`'popdef(`$1')for(`$1', incr($2), $3, `$4')')')dnl
define(`reverse', `ifelse(len(`$1'), 0, , `reverse(substr(`$1', 1))`'substr(`$1', 0, 1)')')dnl
define(`random', `define(`seed', eval((seed * 1103 + 12345) & 0xffffff))eval(seed % $1)')dnl
define(`seed', 7)dnl
define(`collatz', `ifelse($1, 1, $2, `collatz(ifelse(eval($1 % 2), 1, `eval(3 * $1 + 1)', `eval($1 / 2)'), incr($2))')')dnl
fib({{22|11}})
ackermann(2, {{7|3}})
hanoi({{15|7}}, a, b, c)moves
reverse(`a graph is chordal if every cycle has a chord')
for(`i', 1, {{6000|60}}, `collatz(i, 0) ')
for(`i', 1, {{4000|200}}, `define(`cell_'random(500), `i: random(1000)')')dnl
for(`i', 0, 499, `ifdef(`cell_'i, `indir(`cell_'i)
')')dnl
for(`i', 1, {{1500|40}}, `regexp(`value 'i` of block 'random(77), `\([0-9]+\) of \(\w+\) 1?\([0-9]\)', `\3-\2-\1')
')dnl
for(`i', 1, {{1500|40}}, `patsubst(`phi load store 'random(99999)` copy', `[aeiou]\|\([0-9]\)\([0-9]\)', `<\2&\1>')
')dnl
for(`i', 1, {{300|60}}, `divert(eval(1 + i % 5))format(`%05d %-8s %x', i, `x'i, eval(i * i))
divert(0)')dnl
translit(`the quick brown fox', `a-z', `n-za-m') len(`colour') index(`interference', `fer') eval(0x7fff ** 2 % 1001, 16, 8)
undivert(3, 1, 5, 2, 4)dnl
