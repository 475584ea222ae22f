-- Replaces the settings of one resource. KEYS: korvet:configs
-- ARGV: 1 resource  2 JSON that the change was made from, '' for none  3 JSON, '' removes  4 new revision (random)
-- Returns {'OK', revision before} or {'CONFLICT', JSON or ''} when they changed meanwhile.
-- `:rev`, which is no resource, changes with every change.
-- HDEL first: without a write before, a Redis that is out of memory refuses HSET, and a shorter retention frees memory.
redis.call('HDEL', KEYS[1], ':')
local f = redis.call('HMGET', KEYS[1], ARGV[1], ':rev')
if (f[1] or '') ~= ARGV[2] then return {'CONFLICT', f[1] or ''} end
if ARGV[3] == '' then redis.call('HDEL', KEYS[1], ARGV[1]) else redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end
redis.call('HSET', KEYS[1], ':rev', ARGV[4])
return {'OK', f[2] or ''}
