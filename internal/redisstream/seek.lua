-- Finds the first entry with an offset at or above a target: probes <ms>-<target>, so that each answer snaps to data;
-- interpolates, and bisects when interpolation gained less than half. One round trip does, unless entries are large: there
-- is no asking for ids without values, and one of 1 MB takes 2 ms in Lua. So a step ends behind the first large one.
-- KEYS: 1 a stream
-- ARGV: 1 target offset  2 bytes of entries after which the step ends  3... where the step before ended, as it told
-- Answers {id, probes}, {} when there is none, or {'', probes, id below the target and id at or above it ('' = not looked for
-- yet), ms of the stream's first entry, '1' = strict, '1' = interpolate, id found for the present probe ('' = none yet)} when
-- the caller has to go on.
-- Offsets are compared as strings (doubles end at 2^53); doubles only choose a probe. Strangers' entries, whose offsets do
-- not rise, are stepped over: those of XADD *, which gives sequences from 0 on in a ms of its own, are known by that; where
-- the offset is not found, a second search also looks at each entry's neighbours.
local key, target = KEYS[1], ARGV[1]
local t, probes, size, most = tonumber(target), 0, 0, tonumber(ARGV[2])

local function below(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

local function read(...) -- XRANGE or XREVRANGE
  local page = redis.call(...)
  for _, raw in ipairs(page) do
    for _, field in ipairs(raw[2]) do size = size + #field end
  end
  return page
end

local function split(id)
  local ms, seq = string.match(id, '(%d+)-(%d+)')
  return {id = id, ms = tonumber(ms), seq = seq}
end

local begin = tonumber(ARGV[5] or '') -- ms of the stream's first entry

-- XADD * gives 0, 1, 2 and so on within a ms; only a log's first record has sequence 0. Records that follow in the same ms
-- have higher sequences: between those and the strangers' is a gap, which the halves of a record's meet.
local function foreign(e)
  if e.ms == begin then return false end
  local half = 0
  repeat
    local probe = string.format('%.0f-%.0f', e.ms, half)
    if #read('XRANGE', key, probe, probe) == 0 then return false end
    half = math.floor((half == 0 and tonumber(e.seq) or half) / 2)
  until half == 0
  return true
end

local function rises(e) -- no neighbour of an earlier ms has its offset or a higher one
  local from, looked, enough = string.format('(%.0f-0', e.ms), 0, size + most
  repeat
    local page = read('XREVRANGE', key, from, '-', 'COUNT', looked == 0 and 1 or 4)
    for _, raw in ipairs(page) do
      local before = split(raw[1])
      if not below(before.seq, e.seq) and not foreign(before) then return false end
      from = '(' .. raw[1]
    end
    looked = looked + #page
  until #page == 0 or looked > 32 or size > enough -- of large ones, not so many
  return true
end

-- The first entry from one id to another, in the command's direction, that wanted accepts.
local function walk(command, from, to, wanted)
  local count = 1
  while true do
    local page = read(command, key, from, to, 'COUNT', count)
    probes = probes + 1
    for _, raw in ipairs(page) do
      local e = split(raw[1])
      if wanted(e) then return e end
    end
    if #page < count then return nil end
    from, count = '(' .. page[#page][1], 4
  end
end

local function more(lo, hi, strict, interpolate, at)
  return {'', probes, lo.id, hi and hi.id or '', string.format('%.0f', begin), strict and '1' or '', interpolate and '1' or '', at and at.id or ''}
end

local function search(strict, lo, hi, interpolate, at)
  local function real(e) return below(lo.seq, e.seq) and not foreign(e) and (not strict or rises(e)) end
  if not lo then
    lo = walk('XRANGE', '-', '+', function() return true end)
    if not lo then return nil end
    begin = lo.ms
    if not below(lo.seq, target) then return lo end
    if size >= most then return nil, more(lo, nil, strict, true) end
  end
  if not hi then
    hi, interpolate = walk('XREVRANGE', '+', lo.id, real), true
    if not hi or below(hi.seq, target) then return nil end
  end

  while true do -- lo is below the target, hi at or above it
    if hi.seq == target then return hi end
    if size >= most then return nil, more(lo, hi, strict, interpolate) end
    local span, m = hi.ms - lo.ms, nil
    local a, b = tonumber(lo.seq), tonumber(hi.seq)
    if interpolate and b > a then m = lo.ms + math.floor(span * (t - a) / (b - a)) end
    if not m or m < lo.ms or m > hi.ms then m = lo.ms + math.floor(span / 2) end
    local probe = string.format('%.0f-%s', m, target)
    at = at or walk('XRANGE', probe, hi.id, real) or hi
    if at.seq == target then return at end
    if below(at.seq, target) then
      lo = at
    elseif size >= most then
      return nil, more(lo, hi, strict, interpolate, at)
    else
      local before = walk('XREVRANGE', '(' .. probe, lo.id, function(e) return e.id == lo.id or real(e) end) or lo
      if below(before.seq, target) then return at end -- a hole: at is the first after it
      hi = before
    end
    interpolate, at = hi.ms - lo.ms <= span / 2 or not interpolate, nil
  end
end

local function known(k) return ARGV[k] and ARGV[k] ~= '' and split(ARGV[k]) or nil end

local found, rest = search(ARGV[6] == '1', known(3), known(4), ARGV[7] == '1', known(8))
if rest then return rest end
if ARGV[6] ~= '1' and (not found or found.seq ~= target) then
  if size >= most then return {'', probes, '', '', '', '1', '', ''} end
  found, rest = search(true)
  if rest then return rest end
end
if not found then return {} end
return {found.id, probes}
