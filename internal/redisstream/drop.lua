-- Drops a sealed segment, with its time index: one that lies below the log start, or of which the remote tier has every record.
-- Redis frees it in the background.
-- KEYS: after the guard's 4 the segment's stream  5 its time index
-- ARGV: after the guard's 3 its number  4 its last offset  5 the offset after that
-- Answers {'OK'}, {'GONE'} (dropped before), {'KEPT'} (something of it is neither below the start nor in the remote tier) or the
-- guard's.
local field = 's:' .. ARGV[3]
local text = redis.call('HGET', KEYS[2], field)
if text then
  local last = string.match(text, '^%S+ %d+ (%d+)')
  if last ~= ARGV[4] then return {'KEPT'} end
  if not after(start, last) then
    local remote = redis.call('HMGET', KEYS[2], 'tiered', 'local')
    if not after(remote[1] or '0', last) then return {'KEPT'} end
    if after(ARGV[5], remote[2] or '0') then redis.call('HSET', KEYS[2], 'local', ARGV[5]) end
  end
  redis.call('HDEL', KEYS[2], field, 'dense:' .. ARGV[3], 'holes:' .. ARGV[3])
end
redis.call('UNLINK', KEYS[4], KEYS[5])
return {text and 'OK' or 'GONE'}
