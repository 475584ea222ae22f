-- Sets and removes fields of a claimed group, all or none. KEYS: korvet:broker:commit:<group> or korvet:broker:group:<group>
-- ARGV: 1 token  2 '1' = also when Redis is full: it frees memory  3 number n of arguments with what is set
--       4 to 3 + n field, value, ...  4 + n ... fields to remove
-- Returns {'OK'} or {'STALE', token}.
local token = redis.call('HGET', KEYS[1], ':token')
if token ~= ARGV[1] then return {'STALE', token or ''} end
-- Without a write before, a Redis that is out of memory refuses HSET; after one it refuses nothing. So either the first
-- command is refused or all of them are done.
if ARGV[2] == '1' then redis.call('HDEL', KEYS[1], ':') end
local step = 4000 -- unpack has room for some 8000
local last = 3 + tonumber(ARGV[3])
for i = 4, last, step do redis.call('HSET', KEYS[1], unpack(ARGV, i, math.min(i + step - 1, last))) end
for i = last + 1, #ARGV, step do redis.call('HDEL', KEYS[1], unpack(ARGV, i, math.min(i + step - 1, #ARGV))) end
return {'OK'}
