-- Raises the log start for DeleteRecords, and trims the open segment below it, one bounded step: whole nodes without reading
-- an entry, or, when the caller knows that few are left, the rest of a node.
-- With Redis full it works all the same: a script whose first write is a DEL may write on.
-- KEYS: 1 stream  2 leader  3 segments  4 a key that is never there
-- ARGV: 1 topic id  2 new log start  3 id of the first entry to keep ('' = trim nothing)  4 most entries to remove ('' = all below
--       the id)
-- Answers {'OK', log start, entries removed} or {'OTHER'} (another life, or none).
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
local removed = 0
if ARGV[4] ~= '' then
  removed = redis.call('XTRIM', KEYS[1], 'MINID', '~', ARGV[3], 'LIMIT', ARGV[4])
elseif ARGV[3] ~= '' then
  removed = redis.call('XTRIM', KEYS[1], 'MINID', ARGV[3])
end
return {'OK', start, removed}
