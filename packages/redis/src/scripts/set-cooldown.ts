import { createScript } from "./script.js";

/**
 * Sets or ends the cooldown of a channel. Those that are over go at the same time, so that only those that cool are
 * held; all of them expire with the last.
 *
 * KEYS: 1 the cooldowns. ARGV: 1 the channel, 2 the cooldown or "": its end, a blank, and its reason.
 */
export const SET_COOLDOWN = createScript(`
local YEAR = 31536000000
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[2] == "" then redis.call("HDEL", KEYS[1], ARGV[1]) else redis.call("HSET", KEYS[1], ARGV[1], ARGV[2]) end
local last = 0
local all = redis.call("HGETALL", KEYS[1])
for i = 1, #all, 2 do
  local till = tonumber(string.match(all[i + 1], "^%S+")) or 0
  if till <= now then redis.call("HDEL", KEYS[1], all[i]) else last = math.max(last, till) end
end
if last > 0 then redis.call("PEXPIRE", KEYS[1], string.format("%.0f", math.min(last - now, YEAR))) end
return 1
`);
