import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Gateway } from "@calotype/core";
import type NextModule from "next";
import type { AdapterHost } from "../adapter-suite/adapter-host.ts";
import { type Call, type ReadResponse, send } from "../support/http-client.ts";
import { type Listening, listen } from "../support/listen.ts";

// The types declare the export `default`. At run time, the module itself is the function.
const next: typeof NextModule.default = createRequire(import.meta.url)("next");

/** The app in the fixtures. */
export const NEXT_FOLDER = fileURLToPath(new URL("../../fixtures/next-app", import.meta.url));

/**
 * Builds the app in the fixtures like a user, and serves it from this process.
 *
 * @param outputFolder the output folder of the build, in the app's folder. Parallel builds need different
 * folders.
 */
export async function startNext(outputFolder = ".next"): Promise<Listening> {
  process.env["CALOTYPE_NEXT_OUTPUT"] = outputFolder;
  const bin = fileURLToPath(import.meta.resolve("next/dist/bin/next"));
  const env = { ...process.env, NODE_ENV: "production" as const, NEXT_TELEMETRY_DISABLED: "1" };
  const built = spawnSync(process.execPath, [bin, "build"], { cwd: NEXT_FOLDER, env, encoding: "utf8" });
  if (built.status !== 0) throw new Error(built.stdout + built.stderr);
  const app = next({ dev: false, dir: NEXT_FOLDER });
  await app.prepare();
  const handle = app.getRequestHandler();
  return listen((req, res) => void handle(req, res));
}

/** A host of the suite for a running app, whose routes get the gateway of the current test. */
export function createNextHost(server: () => Listening): AdapterHost {
  return {
    name: "Next.js",
    befores: [],
    hasSocket: true,
    hasMountPaths: false,
    otherPaths: "gateway-404",
    async mount(gateway: Gateway) {
      Reflect.set(globalThis, Symbol.for("calotype.test.gateway"), gateway);
      const { url } = server();
      return { url, close: async () => {}, send: (call) => sendToNext(url, call) };
    },
  };
}

/** Next.js adds names of its own to the `vary` of every response. */
async function sendToNext(url: string, call: Call): Promise<ReadResponse> {
  const { headers, ...response } = await send(url, call);
  const { vary = "", ...others } = headers;
  const names = vary.split(",").map((name) => name.trim());
  const ours = names.filter((name) => name !== "" && !/^(?:rsc|next-.*|accept-encoding)$/i.test(name));
  return { ...response, headers: ours.length === 0 ? others : { ...others, vary: ours.join(", ") } };
}
