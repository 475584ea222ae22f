-- Raises the log start and trims the open segment below it, in bounded steps: the caller repeats while it answers 1.
-- With Redis full it works all the same: a script whose first write is a DEL may write on.
-- KEYS: 1 stream  2 leader  3 segments  4 a key that is never there
-- ARGV: 1 topic id  2 new log start  3 entries and 4 bytes of values to look at
-- Answers {'OK', log start, more to trim} or {'OTHER'} (another life, or none).
local function after(a, b) -- offsets as strings: doubles end at 2^53
  if #a ~= #b then return #a > #b end
  return a > b
end
if redis.call('HGET', KEYS[2], 'topic') ~= ARGV[1] then return {'OTHER'} end
redis.call('DEL', KEYS[4])
local start = redis.call('HGET', KEYS[3], 'start') or '0'
if after(ARGV[2], start) then
  start = ARGV[2]
  redis.call('HSET', KEYS[3], 'topic', ARGV[1], 'start', start)
end
if redis.call('EXISTS', KEYS[1]) == 0 then return {'OK', start, 0} end

local most, bytes = tonumber(ARGV[3]), tonumber(ARGV[4])
local keep, last -- the first entry of the step at or above the start, and else the step's last one
local seen, size, count, all = 0, 0, 1, false
repeat -- small pages, so that large entries do not make a long step; two entries at least, or none would go
  local page = redis.call('XRANGE', KEYS[1], last and '(' .. last or '-', '+', 'COUNT', count)
  for _, e in ipairs(page) do
    if not after(start, string.match(e[1], '-(%d+)')) then
      keep = e[1]
      break
    end
    last = e[1]
    for _, field in ipairs(e[2]) do size = size + #field end
  end
  seen = seen + #page
  all = #page < count
  count = math.min(4, most - seen, math.max(1, math.floor((bytes - size) * seen / (size + 1))))
until keep or all or count == 0 or size >= bytes and seen > 1
if keep then
  redis.call('XTRIM', KEYS[1], 'MINID', keep)
elseif all then
  redis.call('XTRIM', KEYS[1], 'MAXLEN', 0) -- these were all entries, and all are below the start
else
  redis.call('XTRIM', KEYS[1], 'MINID', last) -- that entry itself goes with the next step
  return {'OK', start, 1}
end
return {'OK', start, 0}
