-- Forgets a dropped table, of which nothing is left. KEYS: korvet:storage:tables
-- ARGV: 1 its location's last folder  2 new revision (random)
-- Returns {'OK', revision before}, or {'GONE'}.
redis.call('HDEL', KEYS[1], ':')
local before = redis.call('HGET', KEYS[1], ':rev') or ''
if redis.call('HDEL', KEYS[1], ':dropped:' .. ARGV[1]) == 0 then return {'GONE'} end
redis.call('HSET', KEYS[1], ':rev', ARGV[2])
return {'OK', before}
