-- What a broker has to know before it makes its boot id. KEYS: korvet:broker:nodes
-- ARGV: 1 broker id
-- Returns {now in ms, the JSON of the broker under this id or ''}.
local t = redis.call('TIME')
return {t[1] * 1000 + math.floor(t[2] / 1000), redis.call('HGET', KEYS[1], ARGV[1]) or ''}
