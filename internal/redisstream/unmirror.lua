-- Removes the native group that shows a Kafka group, and what native readers have pending in it.
-- KEYS: 1 stream  2 leader
-- ARGV: 1 topic id  2 native group
-- Answers {'OK'} or {'OTHER'} (another life, or no stream).
if redis.call('HGET', KEYS[2], 'topic') ~= ARGV[1] or redis.call('EXISTS', KEYS[1]) == 0 then return {'OTHER'} end
redis.call('XGROUP', 'DESTROY', KEYS[1], ARGV[2])
return {'OK'}
