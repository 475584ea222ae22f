-- Removes a key of a claimed group. KEYS: korvet:broker:commit:<group> or korvet:broker:group:<group>
-- ARGV: 1 token
-- Returns {'OK'} or {'STALE', token}.
local token = redis.call('HGET', KEYS[1], ':token')
if token ~= ARGV[1] then return {'STALE', token or ''} end
redis.call('UNLINK', KEYS[1])
return {'OK'}
