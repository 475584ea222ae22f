-- Notes in the registry what a compaction pass has done.
-- ARGV: after the guard's 3 number of the open segment  4... fields and their values, '' removes one
-- Answers {'OK'}, {'ROLLED'} (another open segment) or the guard's.
if (redis.call('HGET', KEYS[2], 'open') or '0') ~= ARGV[3] then return {'ROLLED'} end
for k = 4, #ARGV, 2 do
  if ARGV[k + 1] == '' then
    redis.call('HDEL', KEYS[2], ARGV[k])
  else
    redis.call('HSET', KEYS[2], ARGV[k], ARGV[k + 1])
  end
end
return {'OK'}
