import { createScript } from "./script.js";

/**
 * Gives places back, and ends a claim of who holds it. One that lapsed is ended as long as nobody else took the key.
 *
 * KEYS: the places, then the claim if there is one. ARGV: 1 the request's id, 2 places, 3 the claim's text while it
 * runs, 4 the text to keep in its place or "", 5 for how long.
 */
export const FINISH = createScript(`
local places = tonumber(ARGV[2])
for i = 1, places do redis.call("ZREM", KEYS[i], ARGV[1]) end
local claim = KEYS[places + 1]
if not claim then return 0 end
local text = redis.call("GET", claim)
if text and text ~= ARGV[3] then return 0 end
if ARGV[4] == "" then return redis.call("DEL", claim) end
redis.call("SET", claim, ARGV[4], "PX", ARGV[5])
return 1
`);
