import { type Mounted, toNextHandlers } from "@calotype/next";

// Imported with the first request: `next build` loads this file too, without keys and databases.
const gateway: Mounted = {
  fetch: async (...call) => (await import("../../gateway.ts")).gateway.fetch(...call),
};

export const { GET, POST, PUT, PATCH, DELETE, OPTIONS } = toNextHandlers(gateway);
