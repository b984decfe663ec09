import { type AdmissionStore, consoleLogger, type Logger } from "@calotype/core";
import { createAdmissionCalls } from "./admission-calls.js";
import { toRunScript } from "./clients/to-run-script.js";
import { createKeyNames } from "./key-names.js";
import { checkOptions, type RedisAdmissionStoreOptions } from "./options.js";
import { surviveAbsence } from "./survive-absence.js";

/** Above the 256 KiB that a gateway keeps of a body, since headers and the escapes of JSON come on top. */
const DEFAULT_MAX_ANSWER_BYTES = 320 * 1024;
const DEFAULT_DEADLINE_MS = 1_000;
const DEFAULT_LEASE_SECONDS = 120;

/**
 * Limits, idempotency keys and cooldowns that all gateways of a fleet share, on Redis 6.2 or newer and by its clock.
 * A request is one round trip before it is sent, and at most one when it is over. Throws where an option is wrong.
 *
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { createRedisAdmissionStore } from "@calotype/redis";
 * import { Redis } from "ioredis";
 *
 * const client = new Redis("redis://127.0.0.1:6379");
 * client.on("error", (error) => console.error(error.message));
 * const gateway = createGateway({
 *   models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
 *   channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *   limits: { requestsPerMinute: 60, concurrent: 8 },
 *   admission: createRedisAdmissionStore({ client }),
 * });
 * ```
 */
export function createRedisAdmissionStore(options: RedisAdmissionStoreOptions): AdmissionStore {
  checkOptions(options);
  const { client, prefix = "calotype:", deadlineMs = DEFAULT_DEADLINE_MS, whenAway = "closed" } = options;
  const { maxResponseBytes = DEFAULT_MAX_ANSWER_BYTES, logger = consoleLogger } = options;
  const leaseMs = 1_000 * (options.leaseSeconds ?? DEFAULT_LEASE_SECONDS);
  const keys = createKeyNames(prefix);
  const calls = createAdmissionCalls({ run: toRunScript(client), keys, maxResponseBytes, leaseMs });
  return surviveAbsence(calls, { deadlineMs, leaseMs, whenAway, warn: toSafeWarn(logger) });
}

/** No failure of the operator's logger may fail a request, or end the process from a timer. */
function toSafeWarn(logger: Logger): Logger["warn"] {
  return (fields, message) => {
    try {
      logger.warn(fields, message);
    } catch {
      // There is nobody left to tell.
    }
  };
}
