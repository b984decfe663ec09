import type { NextConfig } from "next";

// The Dockerfile sets OUTPUT and copies `.next/standalone`, which has all that the server needs.
export default {
  output: process.env.OUTPUT === "standalone" ? "standalone" : undefined,
} satisfies NextConfig;
