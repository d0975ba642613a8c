# Permutation groups, integers, polynomials, matrices, lists and strings.
Print("orders: ", List([4 .. {{30|8}}], n -> Size(Group((1, 2), PermList(Concatenation([2 .. n], [1]))))), "\n");
mathieu := Group((1,2,3,4,5,6,7,8,9,10,11), (3,7,11,8)(4,10,5,6));
Print("mathieu: ", Size(mathieu), " ", Transitivity(mathieu, [1 .. 11]), "\n");
cube := Group(
  ( 1, 3, 8, 6)( 2, 5, 7, 4)( 9,33,25,17)(10,34,26,18)(11,35,27,19),
  ( 9,11,16,14)(10,13,15,12)( 1,17,41,40)( 4,20,44,37)( 6,22,46,35),
  (17,19,24,22)(18,21,23,20)( 6,25,43,16)( 7,28,42,13)( 8,30,41,11),
  (25,27,32,30)(26,29,31,28)( 3,38,43,19)( 5,36,45,21)( 8,33,48,24),
  (33,35,40,38)(34,37,39,36)( 3, 9,46,32)( 2,12,47,29)( 1,14,48,27),
  (41,43,48,46)(42,45,47,44)(14,22,30,38)(15,23,31,39)(16,24,32,40));
Print("cube: ", Size(cube), " ", Size(Centre(cube)), "\n");
Print("factors: ", FactorsInt(2^67 - 1), " ", Factorial(150) mod (10^40 + 121), "\n");
Print("binomials: ", Sum([0 .. 300], k -> Binomial(300, k)) = 2^300, " ", Gcd(Fibonacci(3000), Fibonacci(2100)) = Fibonacci(300), "\n");
Print("primes: ", Length(Filtered([1 .. {{60000|2000}}], IsPrimeInt)), "\n");
matrix := List([1 .. {{40|8}}], i -> List([1 .. {{40|8}}], j -> (i * j + i^2) mod 17 - 8 + 1 / (i + j)));
Print("determinant: ", DeterminantMat(matrix) mod 1000003, " rank: ", RankMat(matrix), "\n");
words := List([1 .. {{20000|500}}], i -> String((i * 7919) mod 10007));
Sort(words);
Print("sorted: ", words{[1, {{1000|50}} .. {{19981|491}}]}, "\n");
sieve := BlistList([1 .. {{300000|9000}}], [2 .. {{300000|9000}}]);
for i in [2 .. {{547|94}}] do
  j := i * i;
  while sieve[i] and j <= {{300000|9000}} do sieve[j] := false; j := j + i; od;
od;
Print("sieve: ", SizeBlist(sieve), "\n");
Print("classes: ", Length(ConjugacyClasses(SymmetricGroup({{8|5}}))), " ", Collected(List([1 .. {{5000|100}}], i -> Order((1, 2, 3)(4, 5)^i))), "\n");
QUIT;
