-- Claims a group at its offsets: no claim before this one changes anything from then on. KEYS: korvet:broker:commit:<group>
-- ARGV: 1 owner  2 token that must still be there ('' = whichever)  3 token that the new one must be above
-- Returns {'OK', token, life, generation or '', 'new' when nothing was there before, else ''} or {'STALE', token}.
-- A token is Redis's time in microseconds, or one more than the one before: doubles hold these exactly until the year 2255.
-- A life is the first token of a group since it was deleted last.
local f = redis.call('HMGET', KEYS[1], ':token', ':life', ':gen')
if ARGV[2] ~= '' and f[1] ~= ARGV[2] then return {'STALE', f[1] or ''} end
local t = redis.call('TIME')
local before = tonumber(string.match(f[1] or '', '^%d+$') or '0')
local token = math.max(t[1] * 1000000 + t[2], before + 1, tonumber(ARGV[3]) + 1)
if token >= 2 ^ 53 then return redis.error_reply('ERR the token of this group is out of bounds: it cannot be claimed') end
token = string.format('%.0f', token)
local life = f[1] and f[2] or token
-- HDEL first: without a write before, a Redis that is out of memory refuses HSET, and a group that is there must be loaded.
if f[1] then redis.call('HDEL', KEYS[1], ':') end
redis.call('HSET', KEYS[1], ':owner', ARGV[1], ':token', token, ':life', life)
return {'OK', token, life, f[3] or '', f[1] and '' or 'new'}
