-- Drops zstd dictionaries of one life of a topic that no partition holds a copy of. The newest stays. A broker that still
-- uses another one sends it along with its append, so that its partition has it. With Redis full it works all the same: a
-- script that has removed something may write on.
-- KEYS: 1 dictionaries of the life
-- ARGV: 1 fence number of the worker's lease  2... ids
-- Answers {'OK', dropped} or {'FENCED'} (a later worker was here).
local known = redis.call('HMGET', KEYS[1], 'newest', 'fence')
local newest, fence = known[1], known[2] or '0'
if #fence > #ARGV[1] or #fence == #ARGV[1] and fence > ARGV[1] then return {'FENCED'} end -- as strings: doubles end at 2^53
local dropped = 0
for k = 2, #ARGV do
  if newest and ARGV[k] ~= newest then dropped = dropped + redis.call('HDEL', KEYS[1], ARGV[k]) end
end
if dropped > 0 then redis.call('HSET', KEYS[1], 'fence', ARGV[1]) end
return {'OK', dropped}
