-- Forgets the remote tier of a partition: the log starts at what Redis has of it.
-- KEYS: after the guard's 4 epochs
-- Answers {'OK', log start} or the guard's.
local first = redis.call('HGET', KEYS[2], 'local') or '0'
if after(first, start) then
  start = first
  redis.call('HSET', KEYS[2], 'start', start)
end
redis.call('HDEL', KEYS[2], 'tiered', 'local')
forget(KEYS[4])
return {'OK', start}
