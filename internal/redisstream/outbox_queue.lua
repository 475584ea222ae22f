-- Puts events into the queue of one partition of __remote_log_metadata, together with how far what they tell of has come, so that
-- whoever tells of it next goes on there.
-- KEYS: 1 queue  2 marks  3 what is going
-- ARGV: 1 field of the mark ('' = none)  2 the mark as the caller knows it ('' = none)  3 the new one ('' removes it)  4 most
--       events that may wait  5... the events, each as three: its text, 'begin', 'end' or '', and of what. What begins is noted
--       as going, with the event, as long as no more than those are noted; an end goes only for what is noted, and removes the note.
-- Answers {'OK'}, {'MOVED', mark} (somebody told of it meanwhile: nothing was done) or {'FULL'}.
if ARGV[1] ~= '' then
  local mark = redis.call('HGET', KEYS[2], ARGV[1]) or ''
  if mark ~= ARGV[2] then return {'MOVED', mark} end
end
if redis.call('XLEN', KEYS[1]) + (#ARGV - 4) / 3 > tonumber(ARGV[4]) then return {'FULL'} end
for k = 5, #ARGV, 3 do
  local new = true
  if ARGV[k + 1] == 'begin' then
    if redis.call('HLEN', KEYS[3]) < tonumber(ARGV[4]) then redis.call('HSET', KEYS[3], ARGV[k + 2], ARGV[k]) end
  elseif ARGV[k + 1] == 'end' then
    new = redis.call('HDEL', KEYS[3], ARGV[k + 2]) == 1
  end
  if new then redis.call('XADD', KEYS[1], '*', 'event', ARGV[k]) end
end
if ARGV[1] ~= '' and ARGV[3] == '' then
  redis.call('HDEL', KEYS[2], ARGV[1])
elseif ARGV[1] ~= '' and ARGV[3] ~= ARGV[2] then
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
end
return {'OK'}
