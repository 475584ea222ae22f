-- The commit point of a topic's creation. KEYS: korvet:topics
-- ARGV: 1 topic  2 id (UUIDv7 as text: later ones compare greater)  3 JSON  4 new revision (random)
-- Returns {'OK', revision before}, {'EXISTS', JSON}, or {'BEHIND', highest id} when the id is not above all before.
-- Fields that start with a colon are no topics: `:last` is the highest id ever given, `:rev` changes with every change.
local f = redis.call('HMGET', KEYS[1], ARGV[1], ':last', ':rev')
if f[1] then return {'EXISTS', f[1]} end
if f[2] and ARGV[2] <= f[2] then return {'BEHIND', f[2]} end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3], ':last', ARGV[2], ':rev', ARGV[4])
return {'OK', f[3] or ''}
