import { createHash } from "node:crypto";

/** A script in Lua. Redis runs it as one atomic step. */
export interface Script {
  readonly source: string;
  /** The SHA-1 of the source, by which Redis finds the script. */
  readonly sha: string;
}

/**
 * Makes all checks of an admission request and takes everything that it needs, by the clock of Redis.
 *
 * KEYS: the windows, the slots, then the idempotency key and the cooldowns if the request needs them.
 * ARGV: 1 number of windows, 2 number of slots, 3 number of idempotency keys; then limit, length and cost of each
 * window; limit and lease of each slot; then the request's id, and the value and lease of the idempotency key.
 *
 * Returns `{"claimed", value}`, `{"limited", index, …}`, `{"crowded", index, …}` or `{"admitted", now, cooldowns, …}`,
 * where … is the count and the remaining milliseconds of each window. Indexes begin at 1. Cooldowns are alternating
 * fields and values. Without cooldowns `now` may be 0.
 *
 * The number of commands, and of strings made from numbers, decides how much CPU time Redis needs. Each window is
 * therefore counted first, which returns its count, and the rare refusal undoes the count; no other client sees it in
 * between. An error undoes nothing, so all values that another program could have damaged are read before any write.
 *
 * The script may run twice for one request, because a client sends it again if the connection was lost before the
 * reply. The request's own slot and idempotency key are therefore no obstacle, and a refusal removes them.
 */
export const ADMIT = createScript(admitSource(false));

/**
 * The same in turn: a request is also refused while another one of the caller has a place at one of its limits and has waited longer.
 *
 * KEYS: after the idempotency key, the places: a hash by the request's id, with the beginning of the wait, the end of the lease and the
 * key of the limit. ARGV: always has the request's id; at its end how long the request has waited, and the lease of its place, or 0 if
 * it does not wait.
 */
export const ADMIT_IN_TURN = createScript(admitSource(true));

function admitSource(isInTurn: boolean): string {
  const inTurn = (source: string): string => (isInTurn ? source : "");
  return `
local call = redis.call
local ARGV, KEYS = ARGV, KEYS
local windows, slots = tonumber(ARGV[1]), tonumber(ARGV[2])
local last = 4 + 3 * windows + 2 * slots
local claim = ARGV[3] == "1" and KEYS[windows + slots + 1]
local claimed = claim and call("GET", claim)
if claimed and claimed ~= ARGV[last + 1] then return {"claimed", claimed} end
local cooldowns = {}
if #KEYS > windows + slots + (claim and 1 or 0)${inTurn(" + 1")} then cooldowns = call("HGETALL", KEYS[#KEYS]) end

local now = 0
local function readClock()
  if now == 0 then
    local time = call("TIME")
    now = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return now
end

${inTurn(`
local line = KEYS[windows + slots + (claim and 1 or 0) + 1]
local waited, lease = tonumber(ARGV[#ARGV - 1]), tonumber(ARGV[#ARGV])
local since, own, blocked = readClock() - waited, false, {}
local places = call("HGETALL", line)
for i = 1, #places, 2 do
  if places[i] == ARGV[last] then own, since = true, tonumber(string.match(places[i + 1], "^%d+")) or since end
end
for i = 1, #places, 2 do
  local begun, till, at = string.match(places[i + 1], "^(%d+) (%d+) (.*)$")
  begun, till = tonumber(begun) or 0, tonumber(till) or 0
  if till <= readClock() then
    call("HDEL", line, places[i])
  elseif begun < since or (begun == since and places[i] ~= ARGV[last] and (not own or places[i] < ARGV[last])) then
    blocked[at] = true
  end
end
`)}
local full = 0
for i = 1, slots do
  local key, limit = KEYS[windows + i], tonumber(ARGV[2 + 3 * windows + 2 * i])
  if call("ZCARD", key) >= limit then
    call("ZREM", key, ARGV[last])
    call("ZREMRANGEBYSCORE", key, "-inf", string.format("%d", readClock()))
    if full == 0 and call("ZCARD", key) >= limit then full = i end
  end
  ${inTurn("if full == 0 and blocked[key] then full = i end")}
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
  if index == 0 and (cost > math.max(0, limit - (count - cost))${inTurn(" or blocked[key]")}) then kind, index = "limited", i end
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
  for i = 1, slots do call("ZREM", KEYS[windows + i], ARGV[last]) end
  ${inTurn(`
  if lease > 0 then
    local at = KEYS[kind == "limited" and index or windows + index]
    call("HSET", line, ARGV[last], string.format("%d %d ", since, readClock() + lease) .. at)
    call("PEXPIRE", line, lease)
    if claim then call("SET", claim, ARGV[last + 1], "PX", ARGV[last + 2]) end
    return refused
  end
  if own then call("HDEL", line, ARGV[last]) end
  `)}
  if claimed then call("DEL", claim) end
  return refused
end
${inTurn(`if own then call("HDEL", line, ARGV[last]) end`)}

for i = 1, slots do
  local key, lease = KEYS[windows + i], tonumber(ARGV[3 + 3 * windows + 2 * i])
  call("ZADD", key, string.format("%d", readClock() + lease), ARGV[last])
  -- Twice the lease, so that most requests need not set it.
  if call("PTTL", key) < lease then call("PEXPIRE", key, 2 * lease) end
end
if claim then call("SET", claim, ARGV[last + 1], "PX", ARGV[last + 2]) end
local admitted = {kind, #cooldowns > 0 and readClock() or 0, cooldowns}
for i = 1, windows do
  admitted[2 + 2 * i], admitted[3 + 2 * i] = counts[i], rests[i]
end
return admitted
`;
}

/**
 * Forgets the place of a request, and frees its idempotency key.
 *
 * KEYS: the places, then the idempotency key if there is one. ARGV: 1 the request's id, 2 the value of the key.
 */
export const GIVE_UP = createScript(`
redis.call("HDEL", KEYS[1], ARGV[1])
if KEYS[2] and redis.call("GET", KEYS[2]) == ARGV[2] then redis.call("DEL", KEYS[2]) end
return 1
`);

/**
 * Releases slots, and ends the use of an idempotency key by its request. A key whose lease has ended can still be
 * ended, unless another request has it.
 *
 * KEYS: the slots, then the idempotency key if there is one. ARGV: 1 the request's id, 2 number of slots, 3 the value
 * of the key while the request runs, 4 the value to store instead or "", 5 for how long.
 */
export const FINISH = createScript(`
local slots = tonumber(ARGV[2])
for i = 1, slots do redis.call("ZREM", KEYS[i], ARGV[1]) end
local claim = KEYS[slots + 1]
if not claim then return 0 end
local value = redis.call("GET", claim)
if value and value ~= ARGV[3] then return 0 end
if ARGV[4] == "" then return redis.call("DEL", claim) end
redis.call("SET", claim, ARGV[4], "PX", ARGV[5])
return 1
`);

/**
 * Renews the slots and idempotency keys of running requests of one caller. Slots have the names of their requests, so
 * a slot whose lease has ended is taken again without a conflict. An idempotency key is taken again if it is free. If
 * another request has it, nothing happens.
 *
 * KEYS: the slots, then the idempotency keys. ARGV: 1 number of slot keys; for each of them the number of its requests,
 * and the id and lease of each; then the value and lease of each idempotency key.
 */
export const RENEW = createScript(`
local call = redis.call
local time = call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local slots, at = tonumber(ARGV[1]), 2
for i = 1, slots do
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
for i = slots + 1, #KEYS do
  local value = call("GET", KEYS[i])
  if not value then
    call("SET", KEYS[i], ARGV[at], "PX", ARGV[at + 1])
  elseif value == ARGV[at] then
    call("PEXPIRE", KEYS[i], ARGV[at + 1])
  end
  at = at + 2
end
return 1
`);

/**
 * Reads the counts of a caller, and writes nothing.
 *
 * KEYS: the windows, then the slots. ARGV: 1 number of windows.
 *
 * Returns the count and the remaining milliseconds of each window, then the number of each limit's slots that are taken.
 */
export const READ_COUNTS = createScript(`
local call = redis.call
local windows = tonumber(ARGV[1])
local counts = {}
for i = 1, windows do
  counts[2 * i - 1], counts[2 * i] = call("GET", KEYS[i]) or "0", math.max(0, call("PTTL", KEYS[i]))
end
if #KEYS > windows then
  local time = call("TIME")
  local now = string.format("(%d", time[1] * 1000 + math.floor(time[2] / 1000))
  for i = windows + 1, #KEYS do counts[windows + i] = call("ZCOUNT", KEYS[i], now, "+inf") end
end
return counts
`);

/** Tests whether Redis accepts writes. KEYS: 1 a key with no other use. */
export const PROBE = createScript(`
redis.call("SET", KEYS[1], "1", "PX", 1000)
return 1
`);

/**
 * Sets or ends a cooldown, and removes cooldowns that are over. The hash expires with the last cooldown.
 *
 * KEYS: 1 the cooldowns. ARGV: 1 the channel, 2 "" or the cooldown: its end, a space, and its reason.
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

function createScript(source: string): Script {
  return { source, sha: createHash("sha1").update(source).digest("hex") };
}
