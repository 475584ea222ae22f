-- Publishes a zstd dictionary of one life of a topic, unless another broker published one meanwhile: an id is of one blob for
-- good, since records name their dictionary by it.
-- KEYS: 1 dictionaries of the life
-- ARGV: 1 newest id that the broker knows ('0' = none)  2 id of the new one  3 blob  4 bytes stored per byte of value, as measured
-- Answers {'OK'} or {'OTHER', newest id}.
local newest = redis.call('HGET', KEYS[1], 'newest') or '0'
if newest ~= ARGV[1] then return {'OTHER', newest} end
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3], 'newest', ARGV[2], 'sum', redis.sha1hex(ARGV[3]), 'ratio', ARGV[4])
return {'OK'}
