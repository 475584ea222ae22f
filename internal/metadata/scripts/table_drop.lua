-- Parts a table from its topic: its objects are to be deleted, its name is free, and the topic may get another one.
-- KEYS: korvet:storage:tables
-- ARGV: 1 table's name  2 topic id  3 location  4 its last folder  5 JSON of the table, with the time  6 new revision (random)
-- Returns {'OK', revision before}, or {'GONE'} when the name is not this table's any more.
-- HDEL first: a Redis that is out of memory refuses HSET without a write before.
redis.call('HDEL', KEYS[1], ':')
local of = ':of:' .. ARGV[2]
local f = redis.call('HMGET', KEYS[1], ARGV[1], of, ':rev')
if not f[1] or cjson.decode(f[1]).location ~= ARGV[3] then return {'GONE'} end
if f[2] == ARGV[1] then redis.call('HDEL', KEYS[1], of) end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[1], ':dropped:' .. ARGV[4], ARGV[5], ':rev', ARGV[6])
return {'OK', f[3] or ''}
