export type { AwayPolicies, AwayPolicy } from "./away-policies.js";
export type { IoredisClient } from "./clients/ioredis-client.js";
export type { NodeRedisClient, NodeRedisScriptInput } from "./clients/node-redis-client.js";
export type { RedisClient } from "./clients/to-run-script.js";
export { createRedisAdmissionStore } from "./create-redis-admission-store.js";
export type { RedisAdmissionStoreOptions } from "./options.js";
