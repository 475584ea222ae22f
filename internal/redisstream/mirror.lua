-- Shows a Kafka group's committed offset as a native group of the open segment: what was read by it counts as delivered.
-- What native readers have pending in the group stays pending.
-- KEYS: 1 stream  2 leader
-- ARGV: 1 topic id  2 native group  3 id of the stream's last entry before the offset (0-0 = none, '' = the stream is empty)
--       4 prefix of mirrored groups  5 how many of them there may be, 0 = no new one  6 sequence before the offset
-- Answers {'OK', id}, {'OTHER'} (another life, or no stream) or {'FULL'}.
if redis.call('HGET', KEYS[2], 'topic') ~= ARGV[1] or redis.call('EXISTS', KEYS[1]) == 0 then return {'OTHER'} end
local id = ARGV[3]
if id == '' then
  id = '0-0'
  if redis.call('XLEN', KEYS[1]) == 0 then -- was all of the log read?
    local i = redis.call('XINFO', 'STREAM', KEYS[1])
    for k = 1, #i, 2 do
      if i[k] == 'last-generated-id' and string.match(i[k + 1], '-(%d+)') == ARGV[6] then id = i[k + 1] end
    end
  end
end
-- Looking through hundreds of groups takes long, and XGROUP SETID of one that is not there would count as a write: after
-- one, a Redis that is out of memory refuses nothing.
local found = redis.pcall('XPENDING', KEYS[1], ARGV[2])
if not found.err then
  redis.call('XGROUP', 'SETID', KEYS[1], ARGV[2], id)
  return {'OK', id}
end
if not string.find(found.err, 'NOGROUP', 1, true) then return found end
local most = tonumber(ARGV[5])
if most == 0 then return {'FULL'} end
local groups = redis.call('XINFO', 'GROUPS', KEYS[1])
if #groups >= most then -- not all of them need be mirrored
  local mirrored = 0
  for _, g in ipairs(groups) do
    for k = 1, #g, 2 do
      if g[k] == 'name' and string.sub(g[k + 1], 1, #ARGV[4]) == ARGV[4] then mirrored = mirrored + 1 end
    end
  end
  if mirrored >= most then return {'FULL'} end
end
redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[2], id)
return {'OK', id}
