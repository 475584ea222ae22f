-- Drops zstd dictionaries of a partition of whose records none is left: another one was used from an offset on that the log
-- does not reach below any more, and they were not used since.
-- KEYS: after the guard's 4 state of the token  5 dictionaries
-- ARGV: after the guard's 3 token seen in leader  4 offset of the oldest record that may be left  5 id of the dictionary that
--       was used since  6... ids of those that may go
-- Answers {'OK', dropped}, {'KEPT'} (what Redis has of the log starts below, or that one was used later) or the guard's.
local first = redis.call('HGET', KEYS[2], 'local') or '0' -- what is below is in the remote tier alone, where values are plain
if after(start, first) then first = start end
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[3] or after(ARGV[4], first) then return {'KEPT'} end
local since = redis.call('HGET', KEYS[4], 'd:' .. ARGV[5])
if not since or after(since, ARGV[4]) then return {'KEPT'} end
local dropped = 0
for k = 6, #ARGV do
  local from = redis.call('HGET', KEYS[4], 'd:' .. ARGV[k])
  if from and after(since, from) then -- one without a note is kept: who noted nothing may be using it
    dropped = dropped + redis.call('HDEL', KEYS[5], ARGV[k])
    redis.call('HDEL', KEYS[4], 'd:' .. ARGV[k])
  end
end
return {'OK', dropped}
