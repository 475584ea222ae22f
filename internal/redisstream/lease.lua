-- The lease of the storage worker: one process acts at a time. With Redis full it works all the same: a script whose first
-- write is a DEL may write on.
-- KEYS: 1 lease  2 a key that is never there
-- ARGV: 1 owner  2 length in ms, 0 gives it back  3 fence number held ('' = none: take it)  4 the owner whose process is provably gone ('' = none)
-- Answers {'OK', fence number, until, now}, {'HELD', owner, until, now} or {'LOST', owner} (what was held is another's).
local function whole(n) return string.format('%.0f', n) end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local f = redis.call('HMGET', KEYS[1], 'owner', 'fence', 'until', 'length')
local owner, fence, ends = f[1], f[2], tonumber(f[3] or '0')
local mine = owner == ARGV[1]
if ARGV[3] ~= '' then
  if not mine or fence ~= ARGV[3] then return {'LOST', owner or ''} end
else
  if owner and not mine and ends > now and owner ~= ARGV[4] then
    local most = now + tonumber(f[4] or ends)
    if ends > most then -- the clock was ahead when it was given: it lasts no longer from now than it was given for
      ends = most
      redis.call('DEL', KEYS[2])
      redis.call('HSET', KEYS[1], 'until', whole(ends))
    end
    return {'HELD', owner, whole(ends), whole(now)}
  end
  fence = whole(math.max(tonumber(fence or '0') + 1, now)) -- a counter alone would repeat after a failover
end
ends = now + tonumber(ARGV[2])
redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'fence', fence, 'until', whole(ends), 'length', ARGV[2])
return {'OK', fence, whole(ends), whole(now)}
