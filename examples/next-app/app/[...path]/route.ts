// The gateway serves this folder and everything below it. In an app with pages of its own it would be
// app/ai/[...path]/route.ts, and answer at /ai/v1/images/generations.
import { createGateway } from "@calotype/core";
import { readOptions } from "@calotype/example-options";
import { toNextHandlers } from "@calotype/next";

export const { GET, POST, PUT, PATCH, DELETE, OPTIONS } = toNextHandlers(() =>
  createGateway(readOptions(process.env)),
);
