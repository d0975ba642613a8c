-- Floating point and integer kernels: n-body, fannkuch, spectral norm, sieve, matrix, mandelbrot.
local bodies = {
  {0, 0, 0, 0, 0, 0, 39.47}, {4.84, -1.16, -0.10, 0.60, 2.81, -0.02, 0.037}, {8.34, 4.12, -0.40, -1.01, 1.82, 0.008, 0.011},
  {12.89, -15.11, -0.22, 1.08, 0.86, -0.01, 0.0017}, {15.37, -25.91, 0.17, 0.97, 0.59, -0.03, 0.002}}
local function advance(dt)
  for i = 1, #bodies do
    local a = bodies[i]
    for j = i + 1, #bodies do
      local b = bodies[j]
      local dx, dy, dz = a[1] - b[1], a[2] - b[2], a[3] - b[3]
      local d2 = dx * dx + dy * dy + dz * dz
      local mag = dt / (d2 * math.sqrt(d2))
      a[4] = a[4] - dx * b[7] * mag; a[5] = a[5] - dy * b[7] * mag; a[6] = a[6] - dz * b[7] * mag
      b[4] = b[4] + dx * a[7] * mag; b[5] = b[5] + dy * a[7] * mag; b[6] = b[6] + dz * a[7] * mag
    end
  end
  for _, b in ipairs(bodies) do for k = 1, 3 do b[k] = b[k] + dt * b[k + 3] end end
end
for _ = 1, {{600000|600}} do advance(0.01) end
for _, b in ipairs(bodies) do print(("%.9f %.9f %.9f"):format(b[1], b[2], b[3])) end
local function fannkuch(n)
  local p, q, s, sign, maxflips, sum = {}, {}, {}, 1, 0, 0
  for i = 1, n do p[i] = i; q[i] = i; s[i] = i end
  while true do
    local q0 = p[1]
    if q0 ~= 1 then
      for i = 2, n do q[i] = p[i] end
      local flips = 1
      while true do
        local qq = q[q0]
        if qq == 1 then sum = sum + sign * flips; if flips > maxflips then maxflips = flips end break end
        q[q0] = q0
        if q0 >= 4 then local i, j = 2, q0 - 1; repeat q[i], q[j] = q[j], q[i]; i = i + 1; j = j - 1 until i >= j end
        q0 = qq; flips = flips + 1
      end
    end
    if sign == 1 then p[1], p[2] = p[2], p[1]; sign = -1 else
      p[2], p[3] = p[3], p[2]; sign = 1
      for i = 3, n do
        local sx = s[i]
        if sx ~= 1 then s[i] = sx - 1; break end
        if i == n then return sum, maxflips end
        s[i] = i
        local t = p[1]; for j = 1, i do p[j] = p[j + 1] end; p[i + 1] = t
      end
    end
  end
end
print(fannkuch({{8|6}}))
local function A(i, j) local ij = i + j - 1; return 1.0 / (ij * (ij - 1) * 0.5 + i) end
local function Av(x, y, n) for i = 1, n do local a = 0 for j = 1, n do a = a + x[j] * A(i, j) end y[i] = a end end
local u, w = {}, {}
for i = 1, 100 do u[i] = 1 end
for _ = 1, {{10|1}} do Av(u, w, 100); Av(w, u, 100) end
print(("%.12f"):format(u[50] / w[50]))
local sieve, primes = {}, 0
for i = 2, {{200000|8000}} do if not sieve[i] then primes = primes + 1; for j = i * i, {{200000|8000}}, i do sieve[j] = true end end end
print(primes)
for y = -12, 12 do
  local row = {}
  for x = -39, 20 do
    local cr, ci, zr, zi, k = x / 20, y / 10, 0, 0, 0
    while k < 40 and zr * zr + zi * zi < 4 do zr, zi, k = zr * zr - zi * zi + cr, 2 * zr * zi + ci, k + 1 end
    row[#row + 1] = (" .:-=+*#%@"):sub(k // 4 + 1, k // 4 + 1)
  end
  print(table.concat(row))
end
for i = 1, 10 do print(("%.14g %.14g %.14g %d"):format(math.sin(i), math.exp(i / 3), math.log(i + 0.5), math.tointeger(i * 2.0) ~ i), math.fmod(-i, 3), i // -3, 3 % -i, math.ult(i, -1)) end
