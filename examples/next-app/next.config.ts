import type { NextConfig } from "next";

export default {
  transpilePackages: ["@calotype/example-options"],
  // Node loads it. To bundle it too makes the build a fifth slower.
  serverExternalPackages: ["better-auth"],
} satisfies NextConfig;
