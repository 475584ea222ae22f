-- Drops a sealed segment that lies below the log start, with its time index. Redis frees it in the background.
-- KEYS: after the guard's 4 the segment's stream  5 its time index
-- ARGV: after the guard's 3 its number
-- Answers {'OK'}, {'GONE'} (dropped before), {'KEPT'} (something of it is not below the start) or the guard's.
local field = 's:' .. ARGV[3]
local text = redis.call('HGET', KEYS[2], field)
if text then
  local last = string.match(text, '^%S+ %d+ (%d+)')
  if not last or not after(start, last) then return {'KEPT'} end
  redis.call('HDEL', KEYS[2], field, 'dense:' .. ARGV[3], 'holes:' .. ARGV[3])
end
redis.call('UNLINK', KEYS[4], KEYS[5])
return {text and 'OK' or 'GONE'}
