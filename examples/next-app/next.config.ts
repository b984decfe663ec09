import type { NextConfig } from "next";

export default {
  transpilePackages: ["@calotype/example-options"],
} satisfies NextConfig;
