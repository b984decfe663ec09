import { createScript } from "./script.js";

/**
 * All checks of a request, and all that it takes, by the clock of Redis.
 *
 * KEYS: the windows, the places, the claim, the cooldowns; of the last two none or one.
 * ARGV: 1 windows, 2 places, 3 claims, then limit, length and cost of each window, limit and lease of each place, then
 * the request's id, the claim's text and its lease.
 *
 * Gives `{"claimed", text}`, `{"limited", index, …}`, `{"crowded", index, …}` or `{"admitted", now, cooldowns, …}`,
 * where … is the count and the rest in milliseconds of each window. An index begins at 1; cooldowns are fields and
 * values in turn, and where there are none `now` may be 0.
 *
 * What Redis spends goes by the number of commands, and of texts made of numbers. So each window is counted first,
 * which tells its count, and in the rare case of a refusal that is undone: nobody sees it in between. An error undoes
 * nothing, so that what other programs may have spoilt is read before something is taken.
 *
 * It may come twice: a client sends it again where the connection was lost before the answer came. So the request's
 * own place and claim stand in nobody's way, and go where it is refused at last.
 */
export const ADMIT = createScript(`
local call = redis.call
local ARGV, KEYS = ARGV, KEYS
local windows, places = tonumber(ARGV[1]), tonumber(ARGV[2])
local last = 4 + 3 * windows + 2 * places
local claim = ARGV[3] == "1" and KEYS[windows + places + 1]
local claimed = claim and call("GET", claim)
if claimed and claimed ~= ARGV[last + 1] then return {"claimed", claimed} end
local cooldowns = {}
if #KEYS > windows + places + (claim and 1 or 0) then cooldowns = call("HGETALL", KEYS[#KEYS]) end

local now = 0
local function readClock()
  if now == 0 then
    local time = call("TIME")
    now = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return now
end

local full = 0
for i = 1, places do
  local key, limit = KEYS[windows + i], tonumber(ARGV[2 + 3 * windows + 2 * i])
  if call("ZCARD", key) >= limit then
    call("ZREM", key, ARGV[last])
    call("ZREMRANGEBYSCORE", key, "-inf", string.format("%d", readClock()))
    if full == 0 and call("ZCARD", key) >= limit then full = i end
  end
end

local kind, index = "admitted", 0
local counts, rests, begun = {}, {}, {}
for i = 1, windows do
  local key, limit, length, cost = KEYS[i], ARGV[1 + 3 * i], tonumber(ARGV[2 + 3 * i]), tonumber(ARGV[3 + 3 * i])
  local count, rest = call("INCRBY", key, ARGV[3 + 3 * i]), call("PTTL", key)
  begun[i] = rest < 0
  if begun[i] or rest > length then
    call("PEXPIRE", key, ARGV[2 + 3 * i])
    rest = length
  end
  counts[i], rests[i] = count, rest
  if index == 0 and cost > math.max(0, limit - (count - cost)) then kind, index = "limited", i end
end

if index == 0 and full > 0 then kind, index = "crowded", full end

if index > 0 then
  local refused = {kind, index}
  for i = 1, windows do
    local cost = ARGV[3 + 3 * i]
    if begun[i] then
      call("DEL", KEYS[i])
      rests[i] = 0
    else
      call("DECRBY", KEYS[i], cost)
    end
    refused[1 + 2 * i], refused[2 + 2 * i] = counts[i] - cost, rests[i]
  end
  for i = 1, places do call("ZREM", KEYS[windows + i], ARGV[last]) end
  if claimed then call("DEL", claim) end
  return refused
end

for i = 1, places do
  local key, lease = KEYS[windows + i], tonumber(ARGV[3 + 3 * windows + 2 * i])
  call("ZADD", key, string.format("%d", readClock() + lease), ARGV[last])
  -- Twice as long, so that it need not be said again each time.
  if call("PTTL", key) < lease then call("PEXPIRE", key, 2 * lease) end
end
if claim then call("SET", claim, ARGV[last + 1], "PX", ARGV[last + 2]) end
local admitted = {kind, #cooldowns > 0 and readClock() or 0, cooldowns}
for i = 1, windows do
  admitted[2 + 2 * i], admitted[3 + 2 * i] = counts[i], rests[i]
end
return admitted
`);
