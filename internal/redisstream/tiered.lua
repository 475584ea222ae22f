-- Notes up to where the remote tier has a partition's records: only then may sealed segments below that go from Redis.
-- ARGV: after the guard's 3 the first offset that it does not have  4 the offset before that
-- Answers {'OK', what is noted now: it only rises}, {'AHEAD'} (no such offset was sealed here) or the guard's.
local known = redis.call('HMGET', KEYS[2], 'tiered', 'sealed')
local tiered, sealed = known[1] or '0', known[2]
if after(ARGV[3], tiered) then
  if not sealed or after(ARGV[4], sealed) then return {'AHEAD'} end
  tiered = ARGV[3]
  redis.call('HSET', KEYS[2], 'tiered', tiered)
end
return {'OK', tiered}
