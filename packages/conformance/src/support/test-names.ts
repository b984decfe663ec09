/** The keys of the tests. The output and the report of the tests are searched for them. */
export const CALLER_KEY = "caller-canary-1f5d7c20";
export const CHANNEL_KEY = "channel-canary-a83e6b94";
/** A service model of family A, and the provider's name of it. */
export const SEEDREAM = "seedream-4-0-250828";
/** A service model of family B. */
export const QWEN_IMAGE = "image-max";
