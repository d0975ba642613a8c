-- Sorting, three ways, over numbers and strings.
local seed = 42
local function random(n)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed % n
end
local function quicksort(a, lo, hi, less)
  while lo < hi do
    local p, i, j = a[(lo + hi) // 2], lo, hi
    while i <= j do
      while less(a[i], p) do i = i + 1 end
      while less(p, a[j]) do j = j - 1 end
      if i <= j then a[i], a[j] = a[j], a[i]; i = i + 1; j = j - 1 end
    end
    if j - lo < hi - i then quicksort(a, lo, j, less); lo = i else quicksort(a, i, hi, less); hi = j end
  end
end
local function heapsort(a)
  local n = #a
  local function sift(i, n)
    local v = a[i]
    while 2 * i <= n do
      local c = 2 * i
      if c < n and a[c + 1] > a[c] then c = c + 1 end
      if a[c] <= v then break end
      a[i] = a[c]; i = c
    end
    a[i] = v
  end
  for i = n // 2, 1, -1 do sift(i, n) end
  for i = n, 2, -1 do a[1], a[i] = a[i], a[1]; sift(1, i - 1) end
end
local N = {{40000|1200}}
local a, b, c, words = {}, {}, {}, {}
for i = 1, N do a[i] = random(1000000); b[i] = a[i]; c[i] = a[i] / 7 end
quicksort(a, 1, N, function(x, y) return x < y end)
heapsort(b)
table.sort(c, function(x, y) return x > y end)
for i = 1, N do assert(a[i] == b[i]) end
print(a[1], a[N // 2], a[N], c[1], c[N])
for i = 1, {{8000|400}} do words[i] = string.format("%x-%d", random(65536), i) end
table.sort(words)
print(words[1], words[{{4000|200}}], words[{{8000|400}}], table.concat(words, " ", 100, 110))
