import { createScript } from "./script.js";

/**
 * All checks of a ticket, then all that it takes, with the time of Redis.
 *
 * KEYS: the claim, the windows, the places, the cooldowns; of the first and the last none or one.
 * ARGV: 1 the claim's text or "", 2 its lease, 3 windows, 4 places, 5 the request's id, then limit, length and cost of
 * each window, then limit and lease of each place.
 *
 * Gives `{"claimed", text}`, `{"limited", index, …}`, `{"crowded", index, …}` or
 * `{"admitted", now, cooldowns, …}`, where … is the count and the rest of each window in milliseconds, and the
 * cooldowns are fields and values in turn. An index begins at 1.
 *
 * A window is a text of its count and its end, so that one MGET reads all of them: each command within a script
 * takes about half a microsecond of Redis, which is why there are so few.
 */
export const ADMIT = createScript(`
local claim, windows, places = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
local first = claim == "" and 0 or 1
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local texts = {}
if first + windows > 0 then texts = redis.call("MGET", unpack(KEYS, 1, first + windows)) end
if first == 1 and texts[1] then return {"claimed", texts[1]} end

local counts, ends, reached = {}, {}, 0
for i = 1, windows do
  local at = 3 + 3 * i
  local count, till = string.match(texts[first + i] or "", "^(%d+) (%d+)$")
  count, till = tonumber(count) or 0, tonumber(till) or 0
  if till <= now then
    count, till = 0, 0
  else
    till = math.min(till, now + ARGV[at + 1])
  end
  counts[i], ends[i] = count, till
  if reached == 0 and tonumber(ARGV[at + 2]) > math.max(0, ARGV[at] - count) then reached = i end
end

local full = 0
if reached == 0 then
  for i = 1, places do
    local key, limit = KEYS[first + windows + i], tonumber(ARGV[4 + 3 * windows + 2 * i])
    if redis.call("ZCARD", key) >= limit then
      redis.call("ZREMRANGEBYSCORE", key, "-inf", string.format("%.0f", now))
      if redis.call("ZCARD", key) >= limit then
        full = i
        break
      end
    end
  end
end

if reached > 0 or full > 0 then
  local refusal = {reached > 0 and "limited" or "crowded", reached > 0 and reached or full}
  for i = 1, windows do
    refusal[#refusal + 1] = counts[i]
    refusal[#refusal + 1] = math.max(0, ends[i] - now)
  end
  return refusal
end

local cooldowns = {}
if #KEYS > first + windows + places then cooldowns = redis.call("HGETALL", KEYS[#KEYS]) end
local admitted = {"admitted", now, cooldowns}
for i = 1, windows do
  local at = 3 + 3 * i
  local count, till = counts[i] + ARGV[at + 2], ends[i]
  if till == 0 then till = now + ARGV[at + 1] end
  redis.call("SET", KEYS[first + i], string.format("%.0f %.0f", count, till), "PX", string.format("%.0f", till - now))
  admitted[#admitted + 1] = count
  admitted[#admitted + 1] = till - now
end
for i = 1, places do
  local key, lease = KEYS[first + windows + i], tonumber(ARGV[5 + 3 * windows + 2 * i])
  redis.call("ZADD", key, string.format("%.0f", now + lease), ARGV[5])
  -- Twice as long, so that it need not be said again each time.
  if redis.call("PTTL", key) < lease then redis.call("PEXPIRE", key, string.format("%.0f", 2 * lease)) end
end
if first == 1 then redis.call("SET", KEYS[1], claim, "PX", ARGV[2]) end
return admitted
`);
