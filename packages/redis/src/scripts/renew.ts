import { createScript } from "./script.js";

/**
 * Renews places and claims of requests of one caller, which run. A place is named by its request, so that it is taken
 * back where it lapsed, and nobody loses theirs. A claim is taken back where nobody has its key; otherwise only who
 * holds it can renew it.
 *
 * KEYS: the places, then the claims. ARGV: 1 keys of places, then for each of them how many requests have one there, and
 * the id and lease of each; then the text and lease of each claim.
 */
export const RENEW = createScript(`
local call = redis.call
local time = call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local places, at = tonumber(ARGV[1]), 2
for i = 1, places do
  local members, longest = {}, 0
  local count = tonumber(ARGV[at])
  for j = 1, count do
    local id, lease = ARGV[at + 2 * j - 1], tonumber(ARGV[at + 2 * j])
    longest = math.max(longest, lease)
    members[2 * j - 1], members[2 * j] = string.format("%d", now + lease), id
  end
  at = at + 1 + 2 * count
  call("ZADD", KEYS[i], unpack(members))
  if call("PTTL", KEYS[i]) < longest then call("PEXPIRE", KEYS[i], 2 * longest) end
end
for i = places + 1, #KEYS do
  local text = call("GET", KEYS[i])
  if not text then
    call("SET", KEYS[i], ARGV[at], "PX", ARGV[at + 1])
  elseif text == ARGV[at] then
    call("PEXPIRE", KEYS[i], ARGV[at + 1])
  end
  at = at + 2
end
return 1
`);
