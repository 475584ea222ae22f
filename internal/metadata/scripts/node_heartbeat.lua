-- Tells that a broker lives. It never replaces a newer one under the same id. KEYS: korvet:broker:nodes
-- ARGV: 1 broker id  2 boot id (UUIDv7 as text: later ones compare greater)  3 JSON without the time
-- Returns {'OK', now in ms, JSON of each broker ...} or {'SUPERSEDED', JSON of the newer one}.
-- A Redis that is out of memory refuses HSET unless the script has written before: HDEL of a field that is not there counts.
redis.call('HDEL', KEYS[1], ':')
local cur = redis.call('HGET', KEYS[1], ARGV[1])
if cur and cjson.decode(cur).boot > ARGV[2] then return {'SUPERSEDED', cur} end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local node = cjson.decode(ARGV[3])
node.seen = now
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(node))
local out = {'OK', now}
for _, v in ipairs(redis.call('HVALS', KEYS[1])) do out[#out + 1] = v end
return out
