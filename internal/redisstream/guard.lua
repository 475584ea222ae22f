-- What each script of the storage worker begins with: it changes nothing of another life of the topic, nor after a later
-- worker did, so that a worker which was paused for longer than its lease does no harm. With Redis full it works all the
-- same: a script whose first write is a DEL may write on.
-- KEYS: 1 leader  2 segments  3 a key that is never there
-- ARGV: 1 topic id  2 fence number of the worker's lease
-- Answers {'OTHER'} (another life, or none) or {'FENCED'}.
local function after(a, b) -- numbers as strings: doubles end at 2^53
  if #a ~= #b then return #a > #b end
  return a > b
end
if redis.call('HGET', KEYS[1], 'topic') ~= ARGV[1] then return {'OTHER'} end
local known = redis.call('HMGET', KEYS[2], 'fence', 'start')
local fence, start = known[1] or '0', known[2] or '0'
if after(fence, ARGV[2]) then return {'FENCED'} end
redis.call('DEL', KEYS[3])
if fence ~= ARGV[2] then redis.call('HSET', KEYS[2], 'topic', ARGV[1], 'fence', ARGV[2]) end
