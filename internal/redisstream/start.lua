-- Raises the log start for the storage worker. Nothing is trimmed. Leader epochs that ended below it go.
-- KEYS: after the guard's 4 epochs
-- ARGV: after the guard's 3 new log start
-- Answers {'OK', log start} or the guard's.
if after(ARGV[3], start) then
  start = ARGV[3]
  redis.call('HSET', KEYS[2], 'start', start)
end
local function before(seq) -- is this last sequence of an epoch's predecessor below the start?
  return seq == '18446744073709551615' or after(start, seq)
end
local list = redis.call('HGETALL', KEYS[4])
local newest -- of those that begin at or below the start: the records from the start on are its
for k = 1, #list, 2 do
  if before(list[k + 1]) and (not newest or after(list[k], newest)) then newest = list[k] end
end
for k = 1, #list, 2 do
  if newest and after(newest, list[k]) then redis.call('HDEL', KEYS[4], list[k]) end
end
return {'OK', start}
