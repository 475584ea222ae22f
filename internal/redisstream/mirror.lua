-- Shows a Kafka group's committed offset as a native group of the open segment: what was read by it counts as delivered.
-- What native readers have pending in the group stays pending.
-- KEYS: 1 stream  2 leader
-- ARGV: 1 topic id  2 native group  3 id of the stream's first entry at or above the offset ('' = none)
--       4 prefix of mirrored groups  5 how many of them there may be  6 sequence before the offset
-- Answers {'OK', id}, {'OTHER'} (another life, or no stream) or {'FULL'}.
if redis.call('HGET', KEYS[2], 'topic') ~= ARGV[1] or redis.call('EXISTS', KEYS[1]) == 0 then return {'OTHER'} end
local id = '0-0'
local to = ARGV[3] == '' and '+' or '(' .. ARGV[3]
local before = redis.call('XREVRANGE', KEYS[1], to, '-', 'COUNT', 1)[1]
if before then
  id = before[1]
elseif to == '+' then -- nothing is in the stream: was all of the log read?
  local i = redis.call('XINFO', 'STREAM', KEYS[1])
  for k = 1, #i, 2 do
    if i[k] == 'last-generated-id' and string.match(i[k + 1], '-(%d+)') == ARGV[6] then id = i[k + 1] end
  end
end
local there, mirrored = false, 0
for _, g in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  for k = 1, #g, 2 do
    if g[k] == 'name' then
      if g[k + 1] == ARGV[2] then there = true end
      if string.sub(g[k + 1], 1, #ARGV[4]) == ARGV[4] then mirrored = mirrored + 1 end
    end
  end
end
if there then
  redis.call('XGROUP', 'SETID', KEYS[1], ARGV[2], id)
elseif mirrored < tonumber(ARGV[5]) then
  redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[2], id)
else
  return {'FULL'}
end
return {'OK', id}
