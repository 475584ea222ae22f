-- What a creation has to know before it makes an id. KEYS: korvet:topics
-- ARGV: 1 topic
-- Returns {now in ms, highest id ever given or '', the topic's JSON or ''}.
local t = redis.call('TIME')
local f = redis.call('HMGET', KEYS[1], ':last', ARGV[1])
return {t[1] * 1000 + math.floor(t[2] / 1000), f[1] or '', f[2] or ''}
