-- Lists a topic for the worker. A newer version of the topic, which may have more partitions, is never replaced by an
-- older one. KEYS: korvet:topics:deleting
-- ARGV: 1 topic id  2 version  3 JSON
-- Returns the JSON that is listed now, and 1 if this life was not listed before.
-- HDEL first: without a write before, a Redis that is out of memory refuses HSET, and deletions free memory.
redis.call('HDEL', KEYS[1], ':')
local cur = redis.call('HGET', KEYS[1], ARGV[1])
if cur and cjson.decode(cur).version >= tonumber(ARGV[2]) then return {cur, 0} end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return {ARGV[3], cur and 0 or 1}
