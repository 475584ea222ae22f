-- The id of a stream's first entry at or above an id, without the entry's values in the answer.
-- KEYS: 1 stream
-- ARGV: 1 id
-- Answers the id, or nothing.
local found = redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', 1)[1]
return found and found[1]
