import type { NextConfig } from "next";

export default {
  // Node loads it. To bundle it too makes the build a fifth slower.
  serverExternalPackages: ["better-auth"],
} satisfies NextConfig;
