-- After the guard: forgets the leader epochs that ended below the log start.
local function forget(key)
  local function before(seq) -- is this last sequence of an epoch's predecessor below the start?
    return seq == '18446744073709551615' or after(start, seq)
  end
  local list = redis.call('HGETALL', key)
  local newest -- of those that begin at or below the start: the records from the start on are its
  for k = 1, #list, 2 do
    if before(list[k + 1]) and (not newest or after(list[k], newest)) then newest = list[k] end
  end
  for k = 1, #list, 2 do
    if newest and after(newest, list[k]) then redis.call('HDEL', key, list[k]) end
  end
end
