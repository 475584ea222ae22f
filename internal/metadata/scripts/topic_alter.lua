-- Replaces one version of a topic by the next. KEYS: korvet:topics
-- ARGV: 1 topic  2 id  3 version that the change was made from  4 JSON  5 new revision (random)
-- Returns {'OK', revision before}, {'GONE'} when this life of the topic is over, {'CONFLICT', JSON} when it changed meanwhile.
-- HDEL first: without a write before, a Redis that is out of memory refuses HSET, and a shorter retention frees memory.
redis.call('HDEL', KEYS[1], ':')
local f = redis.call('HMGET', KEYS[1], ARGV[1], ':rev')
if not f[1] then return {'GONE'} end
local t = cjson.decode(f[1])
if t.id ~= ARGV[2] then return {'GONE'} end
if string.format('%.0f', t.version) ~= ARGV[3] then return {'CONFLICT', f[1]} end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[4], ':rev', ARGV[5])
return {'OK', f[2] or ''}
