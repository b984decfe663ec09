import { createScript } from "./script.js";

/**
 * All checks of a ticket, and all that it takes, by the clock of Redis.
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
 * which tells its count, and in the rare case of a refusal that is undone: nobody sees it in between.
 */
export const ADMIT = createScript(`
local call = redis.call
local ARGV, KEYS = ARGV, KEYS
local windows, places = tonumber(ARGV[1]), tonumber(ARGV[2])
local last = 4 + 3 * windows + 2 * places
local claim = ARGV[3] == "1" and KEYS[windows + places + 1]
if claim then
  local text = call("GET", claim)
  if text then return {"claimed", text} end
end

local now = 0
local function readClock()
  if now == 0 then
    local time = call("TIME")
    now = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return now
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

if index == 0 then
  for i = 1, places do
    local key, limit = KEYS[windows + i], tonumber(ARGV[2 + 3 * windows + 2 * i])
    if call("ZCARD", key) >= limit then
      call("ZREMRANGEBYSCORE", key, "-inf", string.format("%d", readClock()))
      if call("ZCARD", key) >= limit then
        kind, index = "crowded", i
        break
      end
    end
  end
end

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
  return refused
end

for i = 1, places do
  local key, lease = KEYS[windows + i], tonumber(ARGV[3 + 3 * windows + 2 * i])
  call("ZADD", key, string.format("%d", readClock() + lease), ARGV[last])
  -- Twice as long, so that it need not be said again each time.
  if call("PTTL", key) < lease then call("PEXPIRE", key, 2 * lease) end
end
if claim then call("SET", claim, ARGV[last + 1], "PX", ARGV[last + 2]) end
local admitted = {kind, 0, {}}
if #KEYS > windows + places + (claim and 1 or 0) then
  local cooldowns = call("HGETALL", KEYS[#KEYS])
  if #cooldowns > 0 then admitted[2], admitted[3] = readClock(), cooldowns end
end
for i = 1, windows do
  admitted[2 + 2 * i], admitted[3 + 2 * i] = counts[i], rests[i]
end
return admitted
`);
