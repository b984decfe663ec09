import { vi } from "vitest";
import { describeCases } from "./describe-cases.js";

// They do nothing but wait for timeouts.
vi.setConfig({ maxConcurrency: 30 });

describeCases(({ silenceMs }) => silenceMs !== undefined);
