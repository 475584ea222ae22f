-- Settles what compaction left of a sealed segment: none of its records, and it goes with its time index; some, and the
-- registry gets its new size.
-- KEYS: after the guard's 4 the segment's stream  5 its time index
-- ARGV: after the guard's 3 the segment's number  4 bytes of its stream
-- Answers {'OK', entries left} or the guard's.
local field = 's:' .. ARGV[3]
local text = redis.call('HGET', KEYS[2], field)
local left = redis.call('XLEN', KEYS[4])
if left == 0 then
  redis.call('UNLINK', KEYS[4], KEYS[5])
  redis.call('HDEL', KEYS[2], field, 'dense:' .. ARGV[3], 'holes:' .. ARGV[3])
elseif text then
  -- state, first and last offset, first and last append ms, largest timestamp, bytes
  local before = string.match(text, '^(%S+ %S+ %S+ %S+ %S+ %S+ )%S+')
  if before then redis.call('HSET', KEYS[2], field, before .. ARGV[4]) end
end
return {'OK', left}
