-- Claims the namespace for this layout, or tells who has it. KEYS: korvet:meta
-- ARGV: 1 layout format  2 cluster id  3 created by  4 '1' = a recovery begins: until it has ended no broker starts
-- Returns {format, cluster id, '1' while a recovery has not ended} as they are now. A hash without a format is not ours: {'', '', ''}.
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'format', ARGV[1], 'cluster_id', ARGV[2], 'created_by', ARGV[3])
end
local f = redis.call('HMGET', KEYS[1], 'format', 'cluster_id', 'recovering')
if ARGV[4] == '1' and f[1] and f[2] and not f[3] then
  redis.call('HSET', KEYS[1], 'recovering', '1')
  f[3] = '1'
end
return {f[1] or '', f[2] or '', f[3] or ''}
