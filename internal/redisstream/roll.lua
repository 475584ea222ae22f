-- Seals the open segment: its stream gets the segment's name and an empty one with the same last id and the same native
-- groups takes its place, so that the writer does not notice. Its time goes with the number of groups only. With Redis full it
-- works all the same: RENAME needs no memory, and a script that has written may write on.
-- KEYS: 1 stream  2 leader  3 segments  4 the sealed segment's stream  5 state of the token  6 the segment's time index
-- ARGV: 1 topic id  2 number of the open segment  3 token seen in leader  4 bytes measured (-1 = unknown)
--       5 largest timestamp (-1 = unknown)  6 largest timestamp of the records after the time index's last entry, to close it
--       ('' = leave it open)  7 the worker's fence number ('' = the owner rolls)  8 id of the last entry claimed, as the worker
--       saw it ('' = any)  9 the stream's last generated id as it was seen before ('' = no stream)  10 id of its first entry and
--       11 of its last then ('' = none)
-- Answers {'OK', the registry's text}, {'OTHER'} (another life, number, token or claim), {'EMPTY'} (nothing to seal) or
-- {'FENCED'} (a later worker was here).
local function after(a, b) -- numbers as strings: doubles end at 2^53
  if #a ~= #b then return #a > #b end
  return a > b
end
local f = redis.call('HMGET', KEYS[2], 'topic', 'token')
local r = redis.call('HMGET', KEYS[3], 'open', 'sealed', 'fence')
local open, before = r[1] or '0', r[2]
if ARGV[7] ~= '' and r[3] and after(r[3], ARGV[7]) then return {'FENCED'} end
if f[1] ~= ARGV[1] or open ~= ARGV[2] or f[2] ~= ARGV[3] then return {'OTHER'} end
local noted = redis.call('HGET', KEYS[5], 'last')
if ARGV[8] ~= '' and noted ~= ARGV[8] then return {'OTHER'} end
if redis.call('XLEN', KEYS[1]) == 0 then return {'EMPTY'} end
local last, oldest, newest = ARGV[9], ARGV[10], ARGV[11]
if oldest == '' then return {'OTHER'} end -- all there is came since
local since = redis.call('XREVRANGE', KEYS[1], '+', '(' .. last, 'COUNT', 1)[1]
if since then last, newest = since[1], since[1] end

-- First and last offset: strangers' entries, whose offsets do not rise, are not taken for them.
local fms, fseq
local function mine(id)
  local ms, seq = string.match(id, '(%d+)-(%d+)')
  if not before or after(seq, before) then fms, fseq = ms, seq end
  return fseq
end
mine(oldest)
local from, pages, all = '(' .. oldest, 0, false
while not fseq and not all and pages < 250 do
  local page = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', 4)
  for _, e in ipairs(page) do
    if mine(e[1]) then break end
    from = '(' .. e[1]
  end
  pages, all = pages + 1, #page < 4
end
if not fseq then return {'EMPTY'} end -- only strangers' entries
local lms, lseq = string.match(newest, '(%d+)-'), string.match(noted or newest, '-(%d+)')
if lseq == '18446744073709551615' or after(fseq, lseq) then return {'EMPTY'} end -- none is the owner's yet
local groups = redis.call('XINFO', 'GROUPS', KEYS[1])
redis.call('RENAME', KEYS[1], KEYS[4])
redis.call('XGROUP', 'CREATE', KEYS[1], 'x', '0', 'MKSTREAM')
redis.call('XGROUP', 'DESTROY', KEYS[1], 'x')
redis.call('XSETID', KEYS[1], last)
for _, g in ipairs(groups) do
  local name, delivered
  for k = 1, #g, 2 do
    if g[k] == 'name' then name = g[k + 1] elseif g[k] == 'last-delivered-id' then delivered = g[k + 1] end
  end
  redis.call('XGROUP', 'CREATE', KEYS[1], name, delivered)
end

if ARGV[6] ~= '' then redis.call('HSET', KEYS[6], lseq, ARGV[6]) end
local text = table.concat({'sealed', fseq, lseq, fms, lms, ARGV[5], ARGV[4]}, ' ')
redis.call('HSET', KEYS[3], 'topic', ARGV[1], 'open', string.format('%.0f', tonumber(open) + 1), 'sealed', lseq, 's:' .. open, text)
if ARGV[7] ~= '' then redis.call('HSET', KEYS[3], 'fence', ARGV[7]) end
return {'OK', text}
