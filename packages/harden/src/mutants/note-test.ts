// Vitest loads this file before each test file of a run with mutants, so that a mutant knows which test file reaches it.
import { relative } from "node:path";
import { expect } from "vitest";
import { TEST } from "./instrument.ts";

process.env[TEST] = relative(process.cwd(), expect.getState().testPath ?? "");
