// Vitest loads this file before each test file of this package. A property that fails prints its seed.
import { configureGlobal } from "fast-check";
import { SEED } from "./random.js";

configureGlobal({ seed: SEED });
