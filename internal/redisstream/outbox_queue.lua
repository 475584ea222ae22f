-- Puts events into the queue of one partition of __remote_log_metadata, together with how far what they tell of has come, so that
-- whoever tells of it next goes on there.
-- KEYS: 1 queue  2 marks
-- ARGV: 1 field of the mark ('' = none)  2 the mark as the caller knows it ('' = none)  3 the new one ('' removes it)  4 most
--       events that may wait  5... the events
-- Answers {'OK'}, {'MOVED', mark} (somebody told of it meanwhile: nothing was done) or {'FULL'}.
if ARGV[1] ~= '' then
  local mark = redis.call('HGET', KEYS[2], ARGV[1]) or ''
  if mark ~= ARGV[2] then return {'MOVED', mark} end
end
if redis.call('XLEN', KEYS[1]) + #ARGV - 4 > tonumber(ARGV[4]) then return {'FULL'} end
for k = 5, #ARGV do redis.call('XADD', KEYS[1], '*', 'event', ARGV[k]) end
if ARGV[1] ~= '' and ARGV[3] == '' then
  redis.call('HDEL', KEYS[2], ARGV[1])
elseif ARGV[1] ~= '' and ARGV[3] ~= ARGV[2] then
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
end
return {'OK'}
