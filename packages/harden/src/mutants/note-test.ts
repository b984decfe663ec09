// Vitest loads this file before each test file of a run with mutants, so that a mutant knows which test file reaches it.
import { relative } from "node:path";
import { expect } from "vitest";
import { TEST } from "./instrument.ts";

const path = relative(process.cwd(), expect.getState().testPath ?? "");
process.env[TEST] = path;
Reflect.set(globalThis, TEST, path);
