import { createScript } from "./script.js";

/** Whether Redis takes writes. KEYS: 1 a key that is not used otherwise. */
export const PROBE = createScript(`
redis.call("SET", KEYS[1], "1", "PX", 1000)
return 1
`);
