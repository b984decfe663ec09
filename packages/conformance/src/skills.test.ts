import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import S3rver from "@20minutes/s3rver";
import { transformSync } from "esbuild";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { extractFromMarkdown } from "./support/extract-code.js";
import { findFreePort } from "./support/find-free-port.js";
import { MANIFESTS } from "./support/packed-project.js";
import { canUse, POSTGRES, REDIS, type Service, urlOf } from "./support/service.js";
import { useProviders } from "./support/use-providers.js";
import { findFiles, ROOT, readText } from "./support/workspace.js";

/*
 * Runs the code of each SKILL.md as its reader would: the server, then the client that checks it, against the emulator. Tests run
 * with `node --test`.
 */

const SKILLS = findFiles("packages/*/SKILL.md");
const FOLDER = join(ROOT, "packages/conformance/.skills-check");
const SERVICES: Readonly<Record<string, Service>> = { postgres: POSTGRES, redis: REDIS };
const CALLER_KEY = "caller-canary-7d20c1aa";
const BUCKET = "my-images";
const SCHEMA = `calotype_test_skills_${process.pid}`;

const providers = useProviders({ images: "tiny" });
const s3 = new S3rver({
  address: "127.0.0.1",
  port: 0,
  silent: true,
  directory: join(tmpdir(), `calotype-skills-${process.pid}`),
  resetOnClose: true,
  configureBuckets: [{ name: BUCKET }],
});
let s3Port = 0;
beforeAll(async () => {
  s3Port = (await s3.run()).port;
});
afterAll(async () => {
  if (await canUse(POSTGRES, urlOf(POSTGRES))) {
    const pool = new Pool({ connectionString: urlOf(POSTGRES) });
    await pool.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`);
    await pool.end();
  }
  await s3.close();
  rmSync(FOLDER, { recursive: true, force: true });
});

it("exists for each package that is published", () => {
  const names = SKILLS.map((path) => basename(dirname(path)));
  const published = MANIFESTS.map(({ name }) => name.replace("@calotype/", ""));
  expect(names.toSorted()).toEqual(published.toSorted());
});

// At the same time, because most of it is waiting until a server has closed.
describe.concurrent.each(SKILLS)("%s", (path) => {
  const name = basename(dirname(path));
  const text = readText(path);
  const blocks = new Map(
    extractFromMarkdown(path, text).map(({ code }) => [/^\/\/ (\S+)\n/.exec(code)?.[1] ?? "", code]),
  );

  it("says what it is for, and when to use it", () => {
    const [, head = ""] = /^---\n([^]*?)\n---\n/.exec(text) ?? [];
    const fields = Object.fromEntries(head.split("\n").map((line) => line.split(/: (.*)/, 2)));
    expect(fields).toEqual({
      name: name === "create-calotype" ? name : `calotype-${name}`,
      description: expect.stringMatching(/ Use it .*\.$/),
    });
    expect(fields["description"]?.length).toBeLessThan(1024);
  });

  it("has a file name for each block", () => expect([...blocks.keys()]).not.toContain(""));

  const server = blocks.get("server.ts") ?? "";
  it.runIf(server !== "")(
    "has a server that makes an image for its client, and ends when it is told to",
    async (test) => {
      const service = SERVICES[name];
      if (service !== undefined && !(await canUse(service, urlOf(service)))) return test.skip();
      const env = { ...(await environment()), PORT: String(await findFreePort()) };
      const running = start(test, { name, file: "server.ts", code: server, env });
      await untilListening(Number(env.PORT), running);
      const check = start(test, { name, file: "check.ts", code: blocks.get("check.ts") ?? "", env });
      expect(await check.ended).toBe(0);
      expect(check.output()).toMatch(/^https?:\/\/\S+\n$/);
      running.child.kill("SIGTERM");
      expect(await running.ended).toBe(0);
    },
  );

  const route = blocks.get("app/ai/[...path]/route.ts") ?? "";
  it.runIf(route !== "")("has a route that makes an image", async (test) => {
    const call = `
        import { POST } from "./route.ts";
        const params = Promise.resolve({ path: ["v1", "images", "generations"] });
        const response = await POST(new Request("http://localhost/ai/v1/images/generations", {
          method: "POST",
          headers: { authorization: "Bearer ${CALLER_KEY}", "content-type": "application/json" },
          body: JSON.stringify({ model: "doubao-seedream-4-5-251128", prompt: "An oak tree", size: "2048x2048" }),
        }), { params });
        console.log(response.status);`;
    const env = await environment();
    write({ name, file: "route.ts", code: route });
    const client = start(test, { name, file: "call.ts", code: call, env });
    expect(await client.ended).toBe(0);
    expect(client.output()).toBe("200\n");
  });

  const [component = "", source = ""] = [...blocks].find(([each]) => each.endsWith(".tsx")) ?? [];
  it.runIf(component !== "")("has a component that renders", async (test) => {
    const built = transformSync(source, { loader: "tsx", jsx: "automatic" }).code;
    write({ name, file: "component.ts", code: built });
    const render = `
        import * as components from "./component.ts";
        import { createElement } from "react";
        import { renderToString } from "react-dom/server";
        for (const one of Object.values(components)) console.log(renderToString(createElement(one)));`;
    const page = start(test, { name, file: "render.ts", code: render });
    expect(await page.ended).toBe(0);
    expect(page.output()).toMatch(/^<section><button type="button">.*<p>idle<\/p><\/section>\n$/);
  });

  const tests = [...blocks].filter(([file]) => file.endsWith(".test.ts"));
  it.runIf(tests.length > 0)("has tests that pass", async (context) => {
    for (const [testFile, testCode] of tests) {
      const test = start(context, { name, file: testFile, code: testCode, args: ["--test"] });
      const exitCode = await test.ended;
      expect(`${exitCode}\n${test.output()}`).toMatch(/^0\n/);
    }
  });
});

/** What the servers read from their environment. */
async function environment() {
  return {
    ARK_API_KEY: "channel-canary-19c4d0be",
    ARK_BASE_URL: providers().server.arkBaseUrl,
    CALOTYPE_API_KEY: CALLER_KEY,
    DATABASE_URL: urlOf(POSTGRES),
    LEDGER_SCHEMA: SCHEMA,
    REDIS_URL: urlOf(REDIS),
    S3_ENDPOINT: `http://127.0.0.1:${s3Port}`,
    S3_BUCKET: BUCKET,
    S3_ACCESS_KEY_ID: "S3RVER",
    S3_SECRET_ACCESS_KEY: "S3RVER",
  };
}

interface Program {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  readonly output: () => string;
}

interface SkillFile {
  /** The folder of its package. */
  readonly name: string;
  readonly file: string;
  readonly code: string;
}

/** Starts a file in the folder of a skill. It is ended at the end of the test. */
function start(
  { onTestFinished }: Pick<TestContext, "onTestFinished">,
  { env, args = [], ...skill }: SkillFile & { readonly env?: object; readonly args?: readonly string[] },
): Program {
  const cwd = write(skill);
  const child = spawn(process.execPath, [...args, skill.file], { cwd, env: { ...process.env, ...env } });
  let output = "";
  child.stdout.on("data", (part) => (output += String(part)));
  child.stderr.pipe(process.stderr);
  const ended = once(child, "exit").then(([code]) => code as number | null);
  onTestFinished(() => void child.kill());
  return { child, ended, output: () => output };
}

/** Writes a file where the packages can be imported, and returns the folder. */
function write({ name, file, code }: SkillFile): string {
  const folder = join(FOLDER, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, file), code);
  return folder;
}

async function untilListening(port: number, { child }: Program): Promise<void> {
  while (child.exitCode === null) {
    const isListening = await fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
    if (isListening) return;
    await sleep(50);
  }
  throw new Error("The server has ended.");
}
