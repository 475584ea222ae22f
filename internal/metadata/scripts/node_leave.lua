-- Takes a broker off the list, unless a newer one runs under its id. KEYS: korvet:broker:nodes
-- ARGV: 1 broker id  2 boot id
-- Returns 1 when it was taken off.
local cur = redis.call('HGET', KEYS[1], ARGV[1])
if not cur or cjson.decode(cur).boot ~= ARGV[2] then return 0 end
return redis.call('HDEL', KEYS[1], ARGV[1])
