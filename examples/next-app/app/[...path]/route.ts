// The folder of this file is the gateway's base path: here the root, so that OpenAI clients take
// http://localhost:8787/v1 as base URL. In an app with more pages it would be app/ai/[...path]/route.ts, and the base URL
// would end in /ai/v1.
import { toNextHandlers } from "@calotype/next";
import { getGateway } from "../gateway.ts";

export const { GET, POST, PUT, PATCH, DELETE, OPTIONS } = toNextHandlers(getGateway);
