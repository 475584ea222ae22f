-- The commit point of a topic's deletion, after the topic was written to korvet:topics:deleting. KEYS: korvet:topics
-- ARGV: 1 topic  2 id  3 version that was written there  4 new revision (random)
-- Returns {'OK', revision before}, {'GONE'} when this life is not there, {'CONFLICT', JSON} when it has a newer version:
-- that may have more partitions, so it must be written there before this is tried again.
local f = redis.call('HMGET', KEYS[1], ARGV[1], ':rev')
if not f[1] then return {'GONE'} end
local t = cjson.decode(f[1])
if t.id ~= ARGV[2] then return {'GONE'} end
if string.format('%.0f', t.version) ~= ARGV[3] then return {'CONFLICT', f[1]} end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[1], ':rev', ARGV[4])
return {'OK', f[2] or ''}
