-- Patterns, formatting, buffers, packing, UTF-8.
local text = {}
for i = 1, {{3000|150}} do text[i] = ("line %d: key%d = value_%s; "):format(i, i % 17, ("abc"):rep(i % 5)) end
text = table.concat(text, "\n")
local count, keys = 0, {}
for k, v in text:gmatch("(key%d+)%s*=%s*([%w_]+);") do keys[k] = (keys[k] or 0) + #v; count = count + 1 end
local names = {}
for k in pairs(keys) do names[#names + 1] = k end
table.sort(names)
for _, k in ipairs(names) do io.write(k, "=", keys[k], " ") end
print(count)
print((text:gsub("%d+", function(d) return tonumber(d) % 3 == 0 and "<" .. d .. ">" or nil end)):sub(1, 300))
print(text:find("value_abcabc;", 1, true), text:find("(%d)%1%1"), text:match("^line (%d+)"), #text:reverse():upper())
print(("%5.2f|%-10s|%+d|%x|%q|%g|%a"):format(3.14159, "left", 7, 255, "a\nb\0c", 1e20, 0.5))
print(("x"):rep(10, ","), ("hello"):byte(1, -1))
print(string.unpack("<i4>d z s2", string.pack("<i4>d z s2", -123456, 2.5, "zero", "counted")))
for _, c in utf8.codes("aé€😀") do io.write(c, " ") end print(utf8.len("aé€😀"), utf8.char(228, 8364))
local function rot13(s) return (s:gsub("%a", function(c)
  local base = c:match("%l") and 97 or 65
  return string.char((c:byte() - base + 13) % 26 + base) end)) end
assert(rot13(rot13(text)) == text)
print(rot13(text):sub(1, 60))
local h = 0
for i = 1, #text do h = (h * 31 + text:byte(i)) & 0xffffffff end
print(("%08x"):format(h), 7 // 2, -7 // 2, -7 % 3, 7.5 // 2, 1 << 62, ~5, 2 ^ 0.5, 10 / 2, math.maxinteger + 1 == math.mininteger)
