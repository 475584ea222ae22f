-- Puts events into the queue of one partition of __remote_log_metadata, together with how far what they tell of has come, so that
-- whoever tells of it next goes on there.
-- KEYS: 1 queue  2 marks  3 notes: what was begun or is going -> the event that told so
-- ARGV: 1 field of the mark ('' = none)  2 the mark as the caller knows it ('' = none)  3 the new one ('' removes it)  4 most
--       events that may wait  5... the events, each as three: its text, its kind, and what it is about:
--         begin  is noted, with the event, as long as no more than those are noted
--         start  likewise, as long as no more than twice those are; else it is not told
--         turn   takes the place of what is noted; told only if something is
--         end    removes what is noted; told only if something is
--         done   removes what is noted
--         ''     nothing of it
-- Answers {'OK'}, {'MOVED', mark} (somebody told of it meanwhile: nothing was done) or {'FULL'}.
if ARGV[1] ~= '' then
  local mark = redis.call('HGET', KEYS[2], ARGV[1]) or ''
  if mark ~= ARGV[2] then return {'MOVED', mark} end
end
local most = tonumber(ARGV[4])
if redis.call('XLEN', KEYS[1]) + (#ARGV - 4) / 3 > most then return {'FULL'} end
for k = 5, #ARGV, 3 do
  local text, kind, of = ARGV[k], ARGV[k + 1], ARGV[k + 2]
  local new, noting = true, false
  if kind == 'begin' then
    noting = redis.call('HEXISTS', KEYS[3], of) == 1 or redis.call('HLEN', KEYS[3]) < most
  elseif kind == 'start' then
    noting = redis.call('HLEN', KEYS[3]) < 2 * most
    new = noting
  elseif kind == 'turn' then
    noting = redis.call('HEXISTS', KEYS[3], of) == 1
    new = noting
  elseif kind == 'end' then
    new = redis.call('HDEL', KEYS[3], of) == 1
  elseif kind == 'done' then
    redis.call('HDEL', KEYS[3], of)
  end
  if noting then redis.call('HSET', KEYS[3], of, text) end
  if new then redis.call('XADD', KEYS[1], '*', 'event', text) end
end
if ARGV[1] ~= '' and ARGV[3] == '' then
  redis.call('HDEL', KEYS[2], ARGV[1])
elseif ARGV[1] ~= '' and ARGV[3] ~= ARGV[2] then
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
end
return {'OK'}
