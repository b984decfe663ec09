/** The keys of the tests: what they print and report is searched for them. */
export const CALLER_KEY = "caller-canary-1f5d7c20";
export const CHANNEL_KEY = "channel-canary-a83e6b94";
/** A service model of family A, and what the channel calls it. */
export const SEEDREAM = "seedream-4-0-250828";
/** A service model of family B. */
export const QWEN_IMAGE = "image-max";
