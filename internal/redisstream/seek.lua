-- Finds the first entry with an offset at or above a target in one round trip: probes <ms>-<target>, so that each answer
-- snaps to data; interpolates, and bisects when interpolation gained less than half.
-- KEYS: 1 a stream
-- ARGV: 1 target offset
-- Answers {id, probes}, or {} when there is none.
-- Offsets are compared as strings (doubles end at 2^53); doubles only choose a probe. Strangers' entries, whose offsets do
-- not rise, are stepped over: those of XADD *, which gives sequences from 0 on in a ms of its own, are known by that; where
-- the offset is not found, a second search also looks at each entry's neighbours.
local key, target = KEYS[1], ARGV[1]
local t, probes = tonumber(target), 0

local function below(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

local function entry(raw)
  local ms, seq = string.match(raw[1], '(%d+)-(%d+)')
  return {id = raw[1], ms = tonumber(ms), seq = seq}
end

local begin -- ms of the stream's first entry

local function foreign(e) -- only a log's first record has sequence 0
  local zero = string.format('%.0f-0', e.ms)
  return e.ms ~= begin and #redis.call('XRANGE', key, zero, zero) > 0
end

local function rises(e) -- no neighbour of an earlier ms has its offset or a higher one
  for _, raw in ipairs(redis.call('XREVRANGE', key, string.format('(%.0f-0', e.ms), '-', 'COUNT', 32)) do
    local before = entry(raw)
    if not below(before.seq, e.seq) and not foreign(before) then return false end
  end
  return true
end

-- The first entry from one id to another, in the command's direction, that wanted accepts.
local function walk(command, from, to, wanted)
  while true do
    local page = redis.call(command, key, from, to, 'COUNT', 4)
    probes = probes + 1
    for _, raw in ipairs(page) do
      local e = entry(raw)
      if wanted(e) then return e end
    end
    if #page < 4 then return nil end
    from = '(' .. page[#page][1]
  end
end

local function search(strict)
  local lo = walk('XRANGE', '-', '+', function() return true end)
  if not lo then return nil end
  begin = lo.ms
  if not below(lo.seq, target) then return lo end
  local function real(e) return below(lo.seq, e.seq) and not foreign(e) and (not strict or rises(e)) end
  local hi = walk('XREVRANGE', '+', lo.id, real)
  if not hi or below(hi.seq, target) then return nil end

  local interpolate = true
  while true do -- lo is below the target, hi at or above it
    if hi.seq == target then return hi end
    local span, m = hi.ms - lo.ms, nil
    local a, b = tonumber(lo.seq), tonumber(hi.seq)
    if interpolate and b > a then m = lo.ms + math.floor(span * (t - a) / (b - a)) end
    if not m or m < lo.ms or m > hi.ms then m = lo.ms + math.floor(span / 2) end
    local probe = string.format('%.0f-%s', m, target)
    local at = walk('XRANGE', probe, hi.id, real) or hi
    if at.seq == target then return at end
    if below(at.seq, target) then
      lo = at
    else
      local before = walk('XREVRANGE', '(' .. probe, lo.id, function(e) return e.id == lo.id or real(e) end) or lo
      if below(before.seq, target) then return at end -- a hole: at is the first after it
      hi = before
    end
    interpolate = hi.ms - lo.ms <= span / 2 or not interpolate
  end
end

local found = search(false)
if not found or found.seq ~= target then found = search(true) end
if not found then return {} end
return {found.id, probes}
