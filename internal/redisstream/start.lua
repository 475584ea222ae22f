-- Raises the log start for the storage worker. Nothing is trimmed. Leader epochs that ended below it go.
-- KEYS: after the guard's 4 epochs
-- ARGV: after the guard's 3 new log start
-- Answers {'OK', log start} or the guard's.
if after(ARGV[3], start) then
  start = ARGV[3]
  redis.call('HSET', KEYS[2], 'start', start)
end
forget(KEYS[4])
return {'OK', start}
