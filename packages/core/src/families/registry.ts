import type { Family } from "./family.js";
import { qwenImage } from "./qwen-image/qwen-image.js";
import { seedream } from "./seedream/seedream.js";

/** The families that every gateway knows. A new one is a folder and a name in this list. */
export const builtInFamilies: readonly Family[] = [seedream, qwenImage];
