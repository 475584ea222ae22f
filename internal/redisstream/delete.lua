-- Ends one life of a partition, and with it every earlier one whose own deletion has not come yet: were it left, the next
-- life would wait for it for ever. The leader hash stays for an hour as a tombstone with a floor above all that the last
-- owner may still send, so that nothing late lands in the next life.
-- Many sealed segments go in steps before that: the caller repeats until all are gone.
-- KEYS: 1 stream  2 leader  3 state of the token  4 epochs  5 segments  6, 7 more keys of the partition
--       8... of each sealed segment the stream and the time index
-- ARGV: 1 token seen in leader ('' = none)  2 topic id  3 number of the open segment  4 the stream's last generated id as it
--       was seen after the token ('' = no stream)  5... numbers of sealed segments, where there are others than these: only they go
-- Answers {'OK'}, {'MORE'}, {'OTHER', topic id} (a later life is there or was deleted: nothing to do) or {'STALE', token} (of the keys
-- that are there now not all may be known: a fence or a roll came in between).
local f = redis.call('HMGET', KEYS[2], 'owner', 'token', 'topic', 'floor', 'deleted')
if f[3] and f[3] > ARGV[2] then return {'OTHER', f[3]} end
if f[5] and ARGV[2] < f[5] then return {'OTHER', f[5]} end -- a late deletion of an earlier life
if (f[2] or '') ~= ARGV[1] or (redis.call('HGET', KEYS[5], 'open') or '0') ~= ARGV[3] then return {'STALE', f[2] or ''} end
if ARGV[5] then
  for k = 8, #KEYS do redis.call('UNLINK', KEYS[k]) end
  for k = 5, #ARGV do redis.call('HDEL', KEYS[5], 's:' .. ARGV[k]) end
  return {'MORE'}
end
local floor = math.max(tonumber(redis.call('HGET', KEYS[3], 'exp') or '0'), tonumber(f[4] or '0'))
local since = redis.call('XREVRANGE', KEYS[1], '+', ARGV[4] == '' and '-' or '(' .. ARGV[4], 'COUNT', 1)[1]
for _, id in ipairs({ARGV[4], since and since[1]}) do
  floor = math.max(floor, tonumber(string.match(id, '(%d+)-') or '0'))
end
redis.call('UNLINK', KEYS[1], KEYS[3], KEYS[4])
for k = 5, #KEYS do redis.call('UNLINK', KEYS[k]) end
redis.call('HDEL', KEYS[2], 'owner', 'token', 'topic', 'epoch')
redis.call('HSET', KEYS[2], 'deleted', ARGV[2], 'floor', string.format('%.0f', floor))
redis.call('EXPIRE', KEYS[2], 3600)
return {'OK'}
