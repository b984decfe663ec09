export type { IoredisClient, NodeRedisClient, NodeRedisScriptInput, RedisClient } from "./client.js";
export type { AwayPolicies, AwayPolicy, RedisAdmissionStoreOptions } from "./options.js";
export { createRedisAdmissionStore } from "./store.js";
