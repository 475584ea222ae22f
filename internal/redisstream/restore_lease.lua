-- Sees that the next storage worker's fence number is above one that a table has seen.
-- KEYS: 1 lease
-- ARGV: 1 fence number
local function after(a, b) -- numbers as strings: doubles end at 2^53
  if #a ~= #b then return #a > #b end
  return a > b
end
if after(ARGV[1], redis.call('HGET', KEYS[1], 'fence') or '0') then redis.call('HSET', KEYS[1], 'fence', ARGV[1]) end
return 'OK'
