-- Takes entries out of a stream of a partition: a compaction pass found newer ones of their keys.
-- KEYS: after the guard's 4 the stream, open or sealed
-- ARGV: after the guard's 3 number of the open segment  4 the stream's own number  5 entries and 6 nodes of the stream now,
--       kept for its next rewrite unless something is known already  7... ids
-- Answers {'OK', removed}, {'ROLLED'} (another open segment) or the guard's.
if (redis.call('HGET', KEYS[2], 'open') or '0') ~= ARGV[3] then return {'ROLLED'} end
redis.call('HSETNX', KEYS[2], 'dense:' .. ARGV[4], ARGV[5] .. ' ' .. ARGV[6])
return {'OK', redis.call('XDEL', KEYS[4], unpack(ARGV, 7))}
