-- What the worker's tick looks at, without a value in the answer: entries are read inside, their ids leave.
-- KEYS: 1 stream  2 leader  3 segments  4 state of the token  5 the copy of a rewrite
-- Answers {topic, owner, epoch, last entry noted, stream, registry, now in ms, 1 = the copy is there}; stream is {} or
-- {last-generated-id, length, id of the first entry, id of the last ('' = none)}.
local f = redis.call('HMGET', KEYS[2], 'topic', 'owner', 'epoch')
local t = redis.call('TIME')
local stream = {}
if redis.call('EXISTS', KEYS[1]) == 1 then
  local of = {}
  local i = redis.call('XINFO', 'STREAM', KEYS[1])
  for k = 1, #i, 2 do of[i[k]] = i[k + 1] end
  local first, last = of['first-entry'], of['last-entry']
  stream = {of['last-generated-id'], of['length'], first and first[1] or '', last and last[1] or ''}
end
return {f[1], f[2], f[3], redis.call('HGET', KEYS[4], 'last'), stream, redis.call('HGETALL', KEYS[3]),
  string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000)), redis.call('EXISTS', KEYS[5])}
