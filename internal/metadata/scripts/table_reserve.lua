-- Reserves a table's name for a life of a topic. KEYS: korvet:storage:tables
-- ARGV: 1 table's name  2 topic id  3 JSON of the table  4 new revision (random)
-- Returns {'OK', revision before}, {'HAVE', JSON} when the topic has a table already, or {'TAKEN', JSON} when another table has
-- the name. Fields that start with a colon are no tables: `:of:<topic id>` is the name of the topic's table,
-- `:dropped:<folder>` is a table whose objects are being deleted, `:rev` changes with every change.
-- HDEL first: without a write before, a Redis that is out of memory refuses HSET, and copying to tables frees memory.
redis.call('HDEL', KEYS[1], ':')
local of = ':of:' .. ARGV[2]
local f = redis.call('HMGET', KEYS[1], ARGV[1], of, ':rev')
if f[2] then
  local have = redis.call('HGET', KEYS[1], f[2])
  if have then return {'HAVE', have} end
end
if f[1] then return {'TAKEN', f[1]} end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3], of, ARGV[1], ':rev', ARGV[4])
return {'OK', f[3] or ''}
