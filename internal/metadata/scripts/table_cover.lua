-- Notes that a table may have records of more partitions. KEYS: korvet:storage:tables
-- ARGV: 1 table's name  2 location  3 its field copied  4 JSON of the table with that  5 new revision (random)
-- Returns {'OK', revision before}, or {'GONE'} when the name is not this table's any more. A higher number stays.
-- HDEL first: a Redis that is out of memory refuses HSET without a write before.
redis.call('HDEL', KEYS[1], ':')
local f = redis.call('HMGET', KEYS[1], ARGV[1], ':rev')
local have = f[1] and cjson.decode(f[1])
if not have or have.location ~= ARGV[2] then return {'GONE'} end
if have.copied and have.copied < tonumber(ARGV[3]) then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[4], ':rev', ARGV[5])
end
return {'OK', f[2] or ''}
