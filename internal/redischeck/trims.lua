-- trims: does this Redis trim a stream by id as documented? Early releases of 6.2 removed too much where the time part
-- of ids jumps, as it does in every log.
-- KEYS: a stream that nobody uses. It is gone when the script ends.
-- Answers "<entries removed> <entries left>": "3 1" is right.
redis.call('DEL', KEYS[1])
for _, id in ipairs({'1-1', '1-2', '1-3', '5-1'}) do
	redis.call('XADD', KEYS[1], id, 'f', 'v')
end
local removed = redis.call('XTRIM', KEYS[1], 'MINID', '5')
local left = redis.call('XLEN', KEYS[1])
redis.call('DEL', KEYS[1])
return removed .. ' ' .. left
