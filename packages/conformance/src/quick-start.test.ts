import { execSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { json } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { transformSync } from "esbuild";
import { afterAll, beforeAll, expect, it, onTestFinished, type TestContext, vi } from "vitest";
import { extractFromMarkdown } from "./support/extract-code.js";
import { findFreePort } from "./support/find-free-port.js";
import { useProviders } from "./support/use-providers.js";
import { ROOT, readText } from "./support/workspace.js";

/*
 * Runs the code of docs/quick-start as it is shown, with another port. Next.js, Deno and Workers are not here: their
 * adapters and handlers run in the tests of the hosts and in `npm run test:runtimes`.
 */

const providers = useProviders({ images: "tiny" });

/** In node_modules, so that imports find the packages of this one. */
const FOLDER = join(ROOT, "packages/conformance/node_modules/.quick-start");
const BUN = join(ROOT, "packages/runtimes/node_modules/@oven/bun-linux-x64/bin/bun");

beforeAll(() => mkdirSync(FOLDER, { recursive: true }));
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

/** The body of the command of the pages. */
const [, BODY = ""] = /-d '(.*)'$/m.exec(readText("docs/quick-start/README.md")) ?? [];
/** A response with an image. */
const IMAGE = { body: { data: [{ url: expect.any(String), size: "1920x1920" }] } };
const HEADERS = { authorization: "Bearer sk-local", "content-type": "application/json" };

function environment(): Record<string, string> {
  return { ARK_BASE_URL: providers().server.arkBaseUrl, ARK_API_KEY: "any", CALOTYPE_API_KEY: "sk-local" };
}

/** Writes the block of a page that begins with this file's name, as JavaScript. Returns its path. */
function writeBlock(page: string, file: string, port: number): string {
  const path = `docs/quick-start/${page}.md`;
  const block = extractFromMarkdown(path, readText(path)).find(({ code }) => code.startsWith(`// ${file}\n`));
  if (block === undefined) throw new Error(`${path} shows no ${file}.`);
  const { code } = transformSync(block.code.replaceAll("8787", String(port)), {
    loader: "ts",
    target: "node22",
  });
  const written = join(FOLDER, `${page}-${file.replace(".ts", ".mjs")}`);
  writeFileSync(written, code);
  return written;
}

const ON_NODE = [
  ["express", "server.ts", "The rest of your app"],
  ["koa", "server.ts", "The rest of your app"],
  ["fastify", "server.ts", "The rest of your app"],
  ["nestjs", "main.ts", '"statusCode":404'],
  ["hono", "server.ts", "The rest of your app"],
  ["node", "server.ts", "is not served"],
] as const;

it.concurrent.for(ON_NODE)(
  "%s makes an image, and serves the rest of the app",
  async ([page, file, rest], context) => {
    const { server, origin, output } = await start(process.execPath, page, file, context);

    expect({ body: await makeImage(origin), output: output() }).toMatchObject(IMAGE);
    expect(await (await fetch(origin)).text()).toContain(rest);
    server.kill("SIGTERM");
    await once(server, "close");
    expect({ code: server.exitCode, output: output() }).toMatchObject({ code: 0 });
  },
);

const PAGES = ["express", "koa", "next", "fastify", "nestjs", "hono", "node", "bun", "deno", "workers"];

it.each(PAGES)("%s has every step: install, emulator, server and request", (page) => {
  const text = readText(`docs/quick-start/${page}.md`);
  const [request = "none"] = /^```sh\ncurl [^]*?^```$/m.exec(readText("docs/quick-start/README.md")) ?? [];

  expect(text).toMatch(/^(?:npm install|bun add) @calotype\/core/m);
  expect(text).toMatch(/^(?:npx|bunx) @calotype\/emulator$/m);
  expect(text).toContain("ARK_BASE_URL=http://127.0.0.1:4010/api/v3");
  expect(text).toContain(request);
});

it.skipIf(!existsSync(BUN))("bun makes an image", async (context) => {
  const { server, origin, output } = await start(BUN, "bun", "server.ts", context);

  expect({ body: await makeImage(origin), output: output() }).toMatchObject(IMAGE);
  server.kill("SIGTERM");
  await once(server, "close");
  expect({ code: server.exitCode, output: output() }).toMatchObject({ code: 0 });
});

it("lambda makes an image from the event of a function URL, bundled by the command of the page", async () => {
  for (const [name, value] of Object.entries(environment())) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  // What Lambda's runtime defines.
  vi.stubGlobal("awslambda", {
    streamifyResponse: (handle: unknown) => handle,
    HttpResponseStream: {
      from: (output: PassThrough, head: unknown) => Object.assign(output, { head }),
    },
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  const { handler } = await import(pathToFileURL(bundleLambda()).href);

  const event = {
    version: "2.0",
    rawPath: "/v1/images/generations",
    rawQueryString: "",
    headers: { ...HEADERS, host: "example.lambda-url.eu-central-1.on.aws" },
    requestContext: {
      domainName: "example.lambda-url.eu-central-1.on.aws",
      http: { method: "POST", path: "/v1/images/generations" },
    },
    body: Buffer.from(BODY).toString("base64"),
    isBase64Encoded: true,
  };
  const output = new PassThrough();
  await handler(event, output, {});

  expect(output).toMatchObject({ head: { statusCode: 200 } });
  expect({ body: await json(output) }).toMatchObject(IMAGE);
});

/** Runs the command of the page that bundles the function. Returns the path of the bundle. */
function bundleLambda(): string {
  const [, command] = /^npx (esbuild [^]*?)\n```$/m.exec(readText("docs/quick-start/lambda.md")) ?? [];
  if (command === undefined) throw new Error("The page of Lambda has no command that bundles.");
  const bundle = join(FOLDER, "lambda-bundle.mjs");
  const here = command
    .replace("lambda.ts", writeBlock("lambda", "lambda.ts", 0))
    .replace("dist/lambda.mjs", bundle);
  execSync(`node_modules/.bin/${here}`, { cwd: join(ROOT, "packages/conformance"), stdio: "pipe" });
  return bundle;
}

/** Makes an image. The body is larger than what the parsers of frameworks accept by default. */
async function makeImage(origin: string): Promise<unknown> {
  const init = { method: "POST", headers: HEADERS, body: BODY + " ".repeat(2_000_000) };
  const response = await fetch(`${origin}/v1/images/generations`, init);
  return response.json();
}

/** Starts the server of a page on a free port. The context is needed because the tests run at the same time. */
async function start(
  program: string,
  page: string,
  file: string,
  { onTestFinished: afterwards }: TestContext,
) {
  const port = await findFreePort();
  const env = { ...process.env, ...environment() };
  const server = spawn(program, [writeBlock(page, file, port)], { env });
  const ended = once(server, "close");
  afterwards(async () => {
    server.kill("SIGKILL");
    await ended;
  });
  let output = "";
  for (const stream of [server.stdout, server.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  const origin = `http://localhost:${port}`;
  await Promise.race([
    vi.waitFor(() => fetch(origin), { timeout: 30_000, interval: 100 }),
    ended.then(() => Promise.reject(new Error(`The server ended: ${output}`))),
  ]);
  return { server, origin, output: () => output };
}
