-- Tells what its owner has to know of the open segment to roll it in time.
-- KEYS: 1 stream  2 segments
-- ARGV: 1 nodes of the stream to measure: more than that are taken to be like them, so that the time is bounded
-- Answers {bytes, id of the first entry ('' = none), number of the open segment, log start}.
local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
local r = redis.call('HMGET', KEYS[2], 'open', 'start')
local bytes = redis.call('MEMORY', 'USAGE', KEYS[1], 'SAMPLES', ARGV[1])
return {bytes or 0, first and first[1] or '', r[1] or '0', r[2] or '0'}
