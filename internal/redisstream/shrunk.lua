-- Tells the registry what a trim has left of a sealed segment.
-- KEYS: after the guard's 4 the segment's stream
-- ARGV: after the guard's 3 its number  4 offset and 5 append ms of its first entry now  6 nodes to measure
-- Answers {'OK'} or the guard's.
local field = 's:' .. ARGV[3]
local text = redis.call('HGET', KEYS[2], field)
local last, lastMs, largest = string.match(text or '', '^sealed %d+ (%d+) %d+ (%d+) ?(%-?%d*)')
if last then
  local bytes = redis.call('MEMORY', 'USAGE', KEYS[4], 'SAMPLES', ARGV[6])
  redis.call('HSET', KEYS[2], field, table.concat({'sealed', ARGV[4], last, ARGV[5], lastMs, largest ~= '' and largest or '-1', string.format('%.0f', bytes)}, ' '))
end
return {'OK'}
