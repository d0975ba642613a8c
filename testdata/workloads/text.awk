# Counts, associative arrays, regular expressions, substitution, formats.
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }

# By insertion into a heap, so that no extension of one awk is needed.
function push(word,    i, other) {
    for (i = ++heaped; i > 1; i = int(i / 2)) {
        other = heap[int(i / 2)]
        if (other <= word) break
        heap[i] = other
    }
    heap[i] = word
}
function pop(    top, last, i, j) {
    top = heap[1]
    last = heap[heaped--]
    for (i = 1; (j = 2 * i) <= heaped; i = j) {
        if (j < heaped && heap[j + 1] < heap[j]) j++
        if (last <= heap[j]) break
        heap[i] = heap[j]
    }
    heap[i] = last
    return top
}
function number(text) { return sprintf("%012.3f", text) }

{
    for (i = 2; i < NF; i++) { count[$i]++; sum[$i] += $NF; pair[$i, $(i + 1)] = NR }
    if (/gr.ph.*(clique|edge) / && !/colour$/) matched++
    if (match($0, /(tree|phi) (load|block|value)+ [0-9]+/)) lengths[RLENGTH]++
    line = $0
    changed += gsub(/[aeiou]+/, "<&>", line)
    hash = (hash * 31 + length(line) + index(line, ">r<")) % 1000003
    upper = toupper(substr($2, 1, 1)) substr($2, 2)
    names[upper] = names[upper] + NR % 7
    numbers += split($NF, parts, ".")
    if (NR % 10 == 0) push(number($NF * 31 % 997))
}

END {
    for (word in count) push(word " " count[word])
    for (word in names) push(word "=" names[word])
    for (n in lengths) push("length " n " " lengths[n])
    for (two in pair) { pairs++; split(two, halves, SUBSEP); if (halves[1] == halves[2]) push(two) }
    while (heaped) { last = pop(); check = (check * 33 + length(last)) % 1000003; if (heaped % 100 == 0) print last }
    for (word in sum) total += sum[word]
    printf "%d %d %d %d %d %d\n", matched, changed, hash, numbers, pairs, check
    printf "%.6f %e %10.3g|%-8s|%5s|%x %o %c\n", total, total / 3, sqrt(total), "left", "r", 3735928559 % 65536, 64, 65
    printf "%.10f %.10f %.10f %d\n", sin(1), exp(2) * log(3), atan2(1, 2), int(-3.7)
    print fib({{23|12}}), substr("associative", 3, 5), index("graph", "ph"), toupper("phi") tolower("PSI")
}
