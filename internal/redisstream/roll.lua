-- Seals the open segment: its stream gets the segment's name and an empty one with the same last id and the same native
-- groups takes its place, so that the writer does not notice.
-- KEYS: 1 stream  2 leader  3 segments  4 the sealed segment's stream  5 state of the token  6 the segment's time index
-- ARGV: 1 topic id  2 number of the open segment  3 token seen in leader
-- Answers {'OK', base offset, last sequence}, {'OTHER'} (another life, number or token) or {'EMPTY'}.
local f = redis.call('HMGET', KEYS[2], 'topic', 'token')
local open = redis.call('HGET', KEYS[3], 'open') or '0'
if f[1] ~= ARGV[1] or open ~= ARGV[2] or f[2] ~= ARGV[3] then return {'OTHER'} end
if redis.call('EXISTS', KEYS[1]) == 0 then return {'EMPTY'} end
local last, length
local i = redis.call('XINFO', 'STREAM', KEYS[1])
for k = 1, #i, 2 do
  if i[k] == 'last-generated-id' then last = i[k + 1] elseif i[k] == 'length' then length = i[k + 1] end
end
if length == 0 then return {'EMPTY'} end

-- First and last offset: strangers' entries, whose offsets do not rise, are not taken for them.
local function after(a, b) -- offsets as strings: doubles end at 2^53
  if #a ~= #b then return #a > #b end
  return a > b
end
local before = string.match(redis.call('HGET', KEYS[3], 's:' .. string.format('%.0f', tonumber(open) - 1)) or '', '^%S+ %S+ (%d+)')
local fms, fseq
local from = '-'
repeat
  local page = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', 4)
  for _, e in ipairs(page) do
    local ms, seq = string.match(e[1], '(%d+)-(%d+)')
    if not before or after(seq, before) then
      fms, fseq = ms, seq
      break
    end
    from = '(' .. e[1]
  end
until fseq or #page < 4
if not fseq then return {'EMPTY'} end -- only strangers' entries
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1][1]
local claim = redis.call('HGET', KEYS[5], 'last') or newest
local lms, lseq = string.match(newest, '(%d+)-'), string.match(claim, '-(%d+)')
if lseq == '18446744073709551615' then return {'EMPTY'} end -- the owner has not written yet
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

-- The time index moves with the segment: its fields are t:<offset>.
local largest = ''
local cursor = '0'
repeat
  local page = redis.call('HSCAN', KEYS[5], cursor, 'MATCH', 't:*', 'COUNT', 1000)
  cursor = page[1]
  for k = 1, #page[2], 2 do
    redis.call('HSET', KEYS[6], string.sub(page[2][k], 3), page[2][k + 1])
  end
until cursor == '0'
local fields = redis.call('HKEYS', KEYS[6])
for k = 1, #fields do redis.call('HDEL', KEYS[5], 't:' .. fields[k]) end

redis.call('HSET', KEYS[3], 'topic', ARGV[1], 'open', string.format('%.0f', tonumber(open) + 1), 'sealed', lseq,
  's:' .. open, table.concat({'sealed', fseq, lseq, fms, lms}, ' '))
return {'OK', fseq, lseq}
