-- Closures, coroutines, metatables, varargs, goto, error handling, garbage collection.
local function counter() local n = 0; return function(d) n = n + (d or 1); return n end end
local c1, c2 = counter(), counter()
for i = 1, 100 do c1(i); c2() end
print(c1(), c2())
local function permute(a, n)
  n = n or #a
  if n <= 1 then coroutine.yield(a) else
    for i = 1, n do a[n], a[i] = a[i], a[n]; permute(a, n - 1); a[n], a[i] = a[i], a[n] end
  end
end
local seen, check = 0, 0
for p in coroutine.wrap(function() permute({1, 2, 3, 4, 5, 6, 7, 8}, {{8|5}}) end) do
  seen = seen + 1; check = (check * 7 + p[1] * p[8] - p[4]) % 1000003
end
print(seen, check)
local V = {}
V.__index = V
V.__add = function(a, b) return setmetatable({x = a.x + b.x, y = a.y + b.y}, V) end
V.__mul = function(a, k) return type(k) == "number" and setmetatable({x = a.x * k, y = a.y * k}, V) or a.x * k.x + a.y * k.y end
V.__eq = function(a, b) return a.x == b.x and a.y == b.y end
V.__lt = function(a, b) return a * a < b * b end
V.__tostring = function(a) return "(" .. a.x .. ", " .. a.y .. ")" end
V.__call = function(a, k) return a.x ^ k end
V.__concat = function(a, b) return tostring(a) .. tostring(b) end
V.__len = function(a) return 2 end
V.__close = function(a) print("closed " .. tostring(a)) end
local v = setmetatable({x = 1, y = 2}, V)
for i = 1, 1000 do v = v + setmetatable({x = i % 3, y = -i % 5}, V) * 0.5 end
print(v, v == v + v * 0, v < v * 2, v(2), v .. v, #v)
do local guard <close> = v end
local proxy = setmetatable({}, {__index = function(t, k) rawset(t, k, k * k); return k * k end, __newindex = function() error("frozen", 0) end})
print(proxy[12], rawget(proxy, 12), pcall(function() proxy.x = 1 end))
local function sum(...) local s = 0; for i = 1, select("#", ...) do s = s + (select(i, ...)) end return s, ... end
print(sum(1, 2, 3.5), (sum(table.unpack({10, 20, 30}, 2))))
print(pcall(error, {code = 7}), select(2, pcall(error, "message", 0)), select(2, xpcall(function() local x = nil; return x.y end, function(m) return "handled: " .. m:gsub("^.-:%d+: ", "") end)))
for i = 1, 3 do for j = 1, 3 do if (i + j) % 2 == 0 then goto continue end io.write(i, j, " ") ::continue:: end end print()
local weak = setmetatable({}, {__mode = "v"})
for i = 1, {{50000|1500}} do local t = {i, tostring(i), {i}}; if i % 100 == 0 then weak[i] = t end end
collectgarbage(); collectgarbage("generational")
local finalised = 0
for i = 1, {{2000|200}} do setmetatable({}, {__gc = function() finalised = finalised + 1 end}) end
collectgarbage(); collectgarbage("incremental"); collectgarbage()
print(next(weak), finalised)
local f = load("local a, b = ... ; local t = {} for i = a, b do t[#t + 1] = i * i end return t")
print(#f(3, 300), f(3, 300)[200], load("return +")) 
local dumped = load(string.dump(function(n) local r = 1 for i = 2, n do r = r * i end return r end))
print(dumped(20), dumped(25.0))
