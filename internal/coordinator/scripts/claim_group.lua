-- Claims a group's members, after its offsets were claimed. Members of an earlier life, which a deletion that was cut short
-- left here, go. KEYS: korvet:broker:group:<group>
-- ARGV: 1 token  2 life
-- Returns {'OK'} or, if a higher token is here, {'ABOVE', token}.
local function above(a, b) -- as strings: doubles end at 2^53
  if #a ~= #b then return #a > #b end
  return a > b
end

local f = redis.call('HMGET', KEYS[1], ':token', ':life')
if f[1] and above(f[1], ARGV[1]) then return {'ABOVE', f[1]} end
if f[2] ~= ARGV[2] then redis.call('UNLINK', KEYS[1]) end
-- HDEL first, as in claim_commits.lua.
redis.call('HDEL', KEYS[1], ':')
redis.call('HSET', KEYS[1], ':token', ARGV[1], ':life', ARGV[2])
return {'OK'}
