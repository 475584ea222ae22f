-- Rebuilds a partition of which Redis has nothing any more, from what its table says: the log begins and goes on where it did,
-- and its owner is whoever fences it first. Only where nothing of the partition is there: it may be repeated.
-- KEYS: 1 stream  2 leader  3 segments  4 epochs
-- ARGV: 1 topic id  2 log start  3 log end  4 the sequence before the log start  5 the sequence before the log end
--       6 ms of the last record's append, or of any before it  7 least leader epoch  8 fence number that the table has seen;
--       and the leader epochs that the records were written under: epoch and the sequence before it, in turn
-- Answers {'OK', leader epoch}, {'KEPT'} (this life of it is there) or {'OTHER', what is there}.
local f = redis.call('HMGET', KEYS[2], 'topic', 'deleted')
if f[1] == ARGV[1] then return {'KEPT'} end
if f[1] then return {'OTHER', 'topic id ' .. f[1]} end
if f[2] and ARGV[1] <= f[2] then return {'OTHER', 'the tombstone of topic id ' .. f[2]} end
for k = 1, 4 do
  if k ~= 2 and redis.call('EXISTS', KEYS[k]) == 1 then return {'OTHER', 'the key ' .. KEYS[k]} end
end
if ARGV[3] ~= '0' then
  redis.call('XGROUP', 'CREATE', KEYS[1], 'x', '0', 'MKSTREAM')
  redis.call('XGROUP', 'DESTROY', KEYS[1], 'x')
  redis.call('XSETID', KEYS[1], ARGV[6] .. '-' .. ARGV[5])
  redis.call('HSET', KEYS[3], 'start', ARGV[2], 'sealed', ARGV[5], 'tiered', ARGV[3], 'local', ARGV[3])
end
redis.call('HSET', KEYS[3], 'topic', ARGV[1], 'fence', ARGV[8])
-- Where nothing is known of the epochs that the records were written under, they are of epoch 0, which is below all: whoever asks
-- where one of them ends is told the end of what is there. The next one, which the first fence makes, is above all.
for k = 9, #ARGV, 2 do redis.call('HSET', KEYS[4], ARGV[k], ARGV[k + 1]) end
if #ARGV == 8 then redis.call('HSET', KEYS[4], '0', ARGV[4]) end
local t = redis.call('TIME')
local epoch = string.format('%.0f', math.max(tonumber(ARGV[7]), t[1] - 1704067200)) -- seconds since 2024, as the fence counts
redis.call('HSET', KEYS[2], 'topic', ARGV[1], 'epoch', epoch)
redis.call('PERSIST', KEYS[2]) -- a tombstone's time to live must not end this life
return {'OK', epoch}
