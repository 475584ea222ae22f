-- Ends a lease early, so that the next owner need not wait for it. The caller has nothing in flight under this token and
-- will send nothing more. The expiry stays above every ms it stamped: the next fence's floor rests on it.
-- KEYS: 1 leader  2 state of the token
-- ARGV: 1 token  2 largest ms ever stamped
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[2], 'exp', string.format('%.0f', tonumber(ARGV[2]) + 1))
return 1
