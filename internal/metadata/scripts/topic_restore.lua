-- Puts a topic back under the id that it had. KEYS: korvet:topics
-- ARGV: 1 topic  2 id (UUIDv7 as text: later ones compare greater)  3 JSON  4 new revision (random)
-- Returns {'OK'}, or {'HAVE', JSON} where a topic of the name is there: it is left as it is.
-- `:last`, the highest id ever given, is not below it afterwards.
local f = redis.call('HMGET', KEYS[1], ARGV[1], ':last')
if f[1] then return {'HAVE', f[1]} end
local last = f[2]
if not last or ARGV[2] > last then last = ARGV[2] end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3], ':last', last, ':rev', ARGV[4])
return {'OK'}
