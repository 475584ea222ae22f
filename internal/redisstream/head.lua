-- Trims the head of one of a partition's streams below the log start, one bounded step: whole nodes without reading an
-- entry, or, when the caller knows that few are left, the rest of a node. A sealed segment's text in the registry follows.
-- KEYS: after the guard's 4 stream
-- ARGV: after the guard's 3 log start that the id was found for  4 id of the first entry to keep
--       5 most entries to remove ('' = all below the id)  6 number of the sealed segment ('' = the open one)  7 nodes to measure
-- Answers {'OK', entries removed, id of the first entry now ('' = none)}, {'KEPT'} (the log starts below) or the guard's.
if after(ARGV[3], start) then return {'KEPT'} end
local removed
if ARGV[5] == '' then
  removed = redis.call('XTRIM', KEYS[4], 'MINID', ARGV[4])
else
  removed = redis.call('XTRIM', KEYS[4], 'MINID', '~', ARGV[4], 'LIMIT', ARGV[5])
end
local first = redis.call('XRANGE', KEYS[4], '-', '+', 'COUNT', 1)[1]
if ARGV[6] ~= '' and removed > 0 and first then
  local field = 's:' .. ARGV[6]
  local text = redis.call('HGET', KEYS[2], field)
  local last, lastMs, largest = string.match(text or '', '^sealed %d+ (%d+) %d+ (%d+) ?(%-?%d*)')
  if last then
    local ms, seq = string.match(first[1], '(%d+)-(%d+)')
    local bytes = redis.call('MEMORY', 'USAGE', KEYS[4], 'SAMPLES', ARGV[7])
    redis.call('HSET', KEYS[2], field, table.concat({'sealed', seq, last, ms, lastMs, largest ~= '' and largest or '-1', string.format('%.0f', bytes)}, ' '))
  end
end
return {'OK', removed, first and first[1] or ''}
