-- Moves entries of the time index from a token's state to the sealed segment that they belong to. Entries that are not moved,
-- because this was never sent, are found where they were: nothing is lost but their place. The caller moves at most 200 at once.
-- KEYS: 1 leader  2 segments  3 state of the token  4 the segment's time index
-- ARGV: 1 topic id  2 token seen in leader  3 number of the segment  4... offsets
-- Answers {'OK'} or {'OTHER'} (another life or token).
local f = redis.call('HMGET', KEYS[1], 'topic', 'token')
if f[1] ~= ARGV[1] or f[2] ~= ARGV[2] then return {'OTHER'} end
local kept = redis.call('HEXISTS', KEYS[2], 's:' .. ARGV[3]) == 1 -- else the segment was dropped meanwhile
for k = 4, #ARGV do
  local field = 't:' .. ARGV[k]
  local largest = redis.call('HGET', KEYS[3], field)
  if largest then
    if kept then redis.call('HSET', KEYS[4], ARGV[k], largest) end
    redis.call('HDEL', KEYS[3], field)
  end
end
return {'OK'}
