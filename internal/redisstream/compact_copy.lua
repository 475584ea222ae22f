-- Writes a stream anew without the holes that removed entries left in its nodes: each call copies some more of its entries,
-- ids and all, and the one that comes to the end puts the copy in the stream's place. Writers and readers do not notice.
-- KEYS: after the guard's 4 the stream, open or sealed  5 the copy
-- ARGV: after the guard's 3 number of the open segment  4 the stream's own number
--       5 id of the last entry copied ('' = begin anew)  6 entries and 7 bytes of values to copy  8 entries copied
--       9 token of the partition's fence  10 the stream's last generated id as it was seen after that
-- Answers {'MORE', id of the last entry copied, entries copied} (also where all were and the token is another one by now),
-- {'DONE', entries}, {'PENDING'} (native readers have entries of it pending, which would be lost), {'CHANGED'} (entries that
-- were copied are gone, or the copy is not as it was left: begin anew), {'ROLLED'} (another open segment) or the guard's.
if (redis.call('HGET', KEYS[2], 'open') or '0') ~= ARGV[3] then return {'ROLLED'} end

local function groups() -- of native readers: names and where they are; nil where something is pending
  local all = {}
  if redis.call('EXISTS', KEYS[4]) == 0 then return all end
  for _, g in ipairs(redis.call('XINFO', 'GROUPS', KEYS[4])) do
    local of = {}
    for k = 1, #g, 2 do of[g[k]] = g[k + 1] end
    if of['pending'] > 0 then return nil end
    all[#all + 1] = of
  end
  return all
end

local function discard(why)
  redis.call('UNLINK', KEYS[5])
  return {why}
end

local last = ARGV[5]
if last ~= '' then -- a step that came late would spoil the copy
  local above = redis.call('XREVRANGE', KEYS[5], '+', '(' .. last, 'COUNT', 1)[1]
  if above or redis.call('XLEN', KEYS[5]) ~= tonumber(ARGV[8]) then return {'CHANGED'} end
elseif groups() then
  redis.call('UNLINK', KEYS[5])
else
  return discard('PENDING')
end
local most, bytes = tonumber(ARGV[6]), tonumber(ARGV[7])
local copied, size, finished = 0, 0, false
repeat -- one by one: nobody knows how large the next one is
  local e = redis.call('XRANGE', KEYS[4], last == '' and '-' or '(' .. last, '+', 'COUNT', 1)[1]
  if e then
    for _, field in ipairs(e[2]) do size = size + #field end
    redis.call('XADD', KEYS[5], e[1], unpack(e[2]))
    last, copied = e[1], copied + 1
  end
  finished = not e
until finished or copied >= most or size >= bytes
if not finished or (redis.call('HGET', KEYS[1], 'token') or '') ~= ARGV[9] then return {'MORE', last, redis.call('XLEN', KEYS[5])} end

-- The copy has every entry of the stream. Has it others, which were trimmed or deleted meanwhile?
local entries = redis.call('XLEN', KEYS[4])
if redis.call('XLEN', KEYS[5]) ~= entries then return discard('CHANGED') end
if entries == 0 then
  redis.call('HDEL', KEYS[2], 'dense:' .. ARGV[4], 'holes:' .. ARGV[4])
  return {'DONE', 0}
end
local natives = groups()
if not natives then return discard('PENDING') end
-- Only a fence raises the last id otherwise than by an entry, and it changes the token.
if #redis.call('XRANGE', KEYS[5], '(' .. ARGV[10], '+', 'COUNT', 1) == 0 then redis.call('XSETID', KEYS[5], ARGV[10]) end
for _, g in ipairs(natives) do redis.call('XGROUP', 'CREATE', KEYS[5], g['name'], g['last-delivered-id']) end
redis.call('UNLINK', KEYS[4])
redis.call('RENAME', KEYS[5], KEYS[4])
redis.call('HDEL', KEYS[2], 'dense:' .. ARGV[4], 'holes:' .. ARGV[4])
return {'DONE', entries}
