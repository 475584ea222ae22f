-- Takes back what was noted of the remote tier: it has a partition's records only up to an offset, or up to where Redis's begin.
-- ARGV: after the guard's 3 the first offset that it does not have
-- Answers {'OK', what is noted now} or the guard's.
local known = redis.call('HMGET', KEYS[2], 'tiered', 'local')
local tiered, first = known[1] or '0', known[2] or '0'
local least = after(first, ARGV[3]) and first or ARGV[3]
if after(tiered, least) then
  tiered = least
  redis.call('HSET', KEYS[2], 'tiered', tiered)
end
return {'OK', tiered}
