-- Fences a partition: the only place where its floor is raised. Takeover, re-fence after an unknown outcome or on a new
-- connection, first use and creation are all this script.
-- KEYS: 1 stream  2 leader  3 state of the token seen  4 state of the new token  5 epochs  6 segments  7 stream of the segment sealed last
-- ARGV: 1 owner (broker id / boot id)  2 token seen in leader ('' = none)  3 new token  4 topic id (UUIDv7 hex: later lives compare greater)
--       5 lease ms  6 largest ms this process ever stamped here  7 sequence the log ends at or above (base - 1 modulo 2^64)
--       8 '1' = Redis's identity changed: a new leader epoch even for the same owner
--       9 '1' = the old owner's process is provably gone: its lease is not waited for (the floor still lies above it)
--      10 now in ms ('' = Redis TIME)  11 number of the open segment ('' = none yet)
--      12, 13 first and last id of this owner's append of unknown outcome ('' = none)  14 log start ('' = none yet)
--      15 the stream's last generated id as it was seen after the token ('' = no stream)
--      16 the end of the remote tier, if the log ends below it and is the beginning of what that has ('' = it does not), 17 the
--      offset before, 18 least leader epoch; and the leader epochs that the log has not: epoch and the sequence before it, in turn
-- Answers {'OK', floor, last sequence, expiry, was mine, now, leader epoch, last id found, alarm, landed, restored},
-- {'HELD', owner, expiry, now}, {'SUPERSEDED', owner} (a later start of the same broker), {'STALE'},
-- {'DELETED'} (this life of the topic is over), {'UNFINISHED', topic id} (an earlier life must be deleted first).
-- restored: 1 = the log goes on behind the remote tier. landed: 1 = that append is in the log, 0 = nothing of it is, and nothing of it can come any more.
-- The caller reads the token, the open segment's number and the log start first, so that every key is declared and what it
-- derives from them holds; and the stream's end, since XINFO, which tells it, shows two whole entries: among records of 1 MB
-- it takes 4 to 13 ms here, and 0.2 outside.
local MAX = '18446744073709551615' -- the sequence before offset 0

local function after(a, b) -- is sequence a above b? As strings: doubles end at 2^53.
  if a == b or a == MAX then return false end
  if b == MAX then return true end
  if #a ~= #b then return #a > #b end
  return a > b
end

local function whole(n) return string.format('%.0f', n) end

local now = tonumber(ARGV[10])
if not now then
  local t = redis.call('TIME')
  now = t[1] * 1000 + math.floor(t[2] / 1000)
end
local lease = tonumber(ARGV[5])
local f = redis.call('HMGET', KEYS[2], 'owner', 'token', 'topic', 'deleted', 'floor', 'epoch')
local owner, token, topic, deleted, tombstone, epoch = f[1], f[2] or '', f[3], f[4], f[5], f[6]
if (deleted and ARGV[4] <= deleted) or (topic and ARGV[4] < topic) then return {'DELETED'} end
if topic and ARGV[4] > topic then return {'UNFINISHED', topic} end
local r = redis.call('HMGET', KEYS[6], 'open', 'start', 'sealed')
if token ~= ARGV[2] or (r[1] or '') ~= ARGV[11] or (r[2] or '') ~= ARGV[14] then return {'STALE'} end

local mine = owner == ARGV[1]
if owner and not mine then -- boot ids are UUIDv7: a later start compares greater, however long its lease is over
  local id, boot = string.match(owner, '^([^/]+)/(.+)$')
  local own, this = string.match(ARGV[1], '^([^/]+)/(.+)$')
  if id and id == own and boot > this then return {'SUPERSEDED', owner} end
end
local s = redis.call('HMGET', KEYS[3], 'exp', 'last') -- the lease and the last id claimed live in the token's own state
local exp, claim = tonumber(s[1] or '0'), s[2]
if owner and not s[1] then -- somebody removed the state: nobody knows how long the lease was
  exp = now + lease
  redis.call('HSET', KEYS[3], 'exp', whole(exp))
end
if owner and not mine and exp > now and ARGV[9] ~= '1' then
  return {'HELD', owner, whole(exp), whole(now)}
end

local found, ms, seq = '', 0, ARGV[7]
if redis.call('EXISTS', KEYS[1]) == 1 then
  if ARGV[15] == '' then return {'STALE'} end
  local since = redis.call('XREVRANGE', KEYS[1], '+', '(' .. ARGV[15], 'COUNT', 1)[1] -- an append of the token's owner, or a stranger's
  found = since and since[1] or ARGV[15]
  if found ~= '0-0' then -- nothing was ever written to one that a native group's XGROUP CREATE made
    ms, seq = string.match(found, '(%d+)-(%d+)')
    ms = tonumber(ms)
  end
else
  redis.call('XGROUP', 'CREATE', KEYS[1], 'x', '0', 'MKSTREAM')
  redis.call('XGROUP', 'DESTROY', KEYS[1], 'x')
end
if after(ARGV[7], seq) then seq = ARGV[7] end
-- Redis lost the end of the log, and the remote tier has it: what is appended goes behind that. The epochs were read after the
-- token: nobody has fenced since, so nobody has appended.
local restored = ARGV[16] ~= '' and after(ARGV[17], seq)
if restored then seq = ARGV[17] end
local alarm, borne = 0, ''
if claim and claim ~= found then -- a foreign XADD, DEL or eviction: offsets keep rising, and somebody is told
  alarm = 1
  local cms, cseq = string.match(claim, '(%d+)-(%d+)')
  ms = math.max(ms, tonumber(cms))
  if after(cseq, seq) then seq = cseq end
  for _, stream in ipairs({KEYS[1], KEYS[7]}) do
    local to, looked, size = '+', 0, 0
    repeat -- one by one: they may be large
      local e = redis.call('XREVRANGE', stream, to, '-', 'COUNT', 1)[1]
      if e then
        local eseq = string.match(e[1], '-(%d+)')
        if borne == '' or after(eseq, borne) then borne = eseq end
        for _, field in ipairs(e[2]) do size = size + #field end
        to, looked = '(' .. e[1], looked + 1
      end
    until not e or looked == 256 or size > 131072
  end
end

-- Is the append of unknown outcome in? From here on it cannot land any more. Half of it, which only a stranger's entry can
-- cause, is taken out: nobody was shown it, since the high watermark is below.
-- Its first and last entry tell; where they were trimmed or dropped since, the start of the log or of what Redis has of it
-- and the end of the log do.
local landed = 0
if ARGV[12] ~= '' then
  local sent, starts = string.match(ARGV[12], '-(%d+)'), redis.call('HMGET', KEYS[6], 'start', 'local')
  local first = after(starts[1] or '0', sent) or after(starts[2] or '0', sent)
  local last = claim == ARGV[13] and claim == found
  local streams = {KEYS[1]}
  if r[3] and not after(string.match(ARGV[12], '-(%d+)'), r[3]) then streams[2] = KEYS[7] end -- else a sealed segment is left alone
  for _, stream in ipairs(streams) do -- not the entries between them: they may be many, or large
    first = first or #redis.call('XRANGE', stream, ARGV[12], ARGV[12]) > 0
    last = last or ARGV[12] == ARGV[13] and first or #redis.call('XRANGE', stream, ARGV[13], ARGV[13]) > 0
  end
  if first and last then
    landed = 1
  elseif mine then
    for _, stream in ipairs(streams) do
      for _, e in ipairs(redis.call('XRANGE', stream, ARGV[12], ARGV[13])) do redis.call('XDEL', stream, e[1]) end
    end
  end
end

-- Strictly above every ms that anybody may still send.
local floor = math.max(ms, tonumber(ARGV[6]) + 1, (owner and not mine) and exp or 0, tonumber(tombstone or '0'))
local id = whole(floor) .. '-' .. seq
redis.call('XSETID', KEYS[1], id)
if redis.call('EXISTS', KEYS[3]) == 1 then redis.call('RENAME', KEYS[3], KEYS[4]) end
local expiry = math.max(now, floor) + lease
if mine then expiry = math.max(expiry, exp) end
redis.call('HSET', KEYS[4], 'exp', whole(expiry), 'last', id)
-- Whoever reads the state from now on must not believe what was claimed between the stream's own end and the new one.
if alarm == 1 then redis.call('HSET', KEYS[4], 'void:' .. seq, borne) end

if restored then
  redis.call('HSET', KEYS[6], 'topic', ARGV[4], 'tiered', ARGV[16], 'local', ARGV[16])
  for k = 19, #ARGV, 2 do redis.call('HSETNX', KEYS[5], ARGV[k], ARGV[k + 1]) end
end
if not epoch and ARGV[8] ~= '1' and not restored then
  epoch = 0
elseif not mine or ARGV[8] == '1' or restored then -- seconds since 2024: a rewound counter would repeat
  epoch = math.max(tonumber(epoch or '0') + 1, math.floor(now / 1000) - 1704067200, tonumber(ARGV[18]))
else
  epoch = tonumber(epoch)
end
redis.call('HSETNX', KEYS[5], whole(epoch), seq) -- this epoch starts at seq + 1
redis.call('HSET', KEYS[2], 'owner', ARGV[1], 'token', ARGV[3], 'topic', ARGV[4], 'epoch', whole(epoch))
redis.call('HDEL', KEYS[2], 'floor')
redis.call('PERSIST', KEYS[2]) -- a tombstone's time to live must not end the new life
return {'OK', whole(floor), seq, whole(expiry), mine and 1 or 0, whole(now), whole(epoch), found, alarm, landed, restored and 1 or 0}
