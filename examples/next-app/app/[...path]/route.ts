// The folder of this file is the gateway's base path: here the root, so that OpenAI clients take
// http://localhost:8787/v1 as base URL. In an app with pages of its own it would be app/ai/[...path]/route.ts,
// and the base URL would end in /ai/v1. `readOptions` takes the options from the environment; write yours here.
import { createGateway } from "@calotype/core";
import { readOptions } from "@calotype/example-options";
import { toNextHandlers } from "@calotype/next";

export const { GET, POST, PUT, PATCH, DELETE, OPTIONS } = toNextHandlers(() =>
  createGateway(readOptions(process.env)),
);
