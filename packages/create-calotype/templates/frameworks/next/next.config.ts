import type { NextConfig } from "next";

// The Dockerfile copies `.next/standalone`, which has all that the server needs.
export default { output: "standalone" } satisfies NextConfig;
