import { vi } from "vitest";
import { describeCases } from "./describe-cases.js";

// These cases only wait for timeouts, so many can run in parallel.
vi.setConfig({ maxConcurrency: 30 });

describeCases(({ silenceMs }) => silenceMs !== undefined);
