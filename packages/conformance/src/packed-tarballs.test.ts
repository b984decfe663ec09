import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { createInterface } from "node:readline";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Bill } from "./release/bill-of-materials.js";
import { PACKAGE_DOCS } from "./release/package-docs.js";
import {
  createPackedProject,
  type Manifest,
  type PackedProject,
  PUBLISHED,
} from "./support/packed-project.js";
import { run } from "./support/run.js";
import { isFull } from "./support/test-run.js";
import { ROOT } from "./support/workspace.js";

let project: PackedProject;
beforeAll(() => {
  project = createPackedProject();
}, 180_000);
afterAll(() => project.remove(), 60_000);

const folderOf = (name: string): string => join(project.folder, "node_modules", name);
const readManifest = (name: string): Manifest =>
  JSON.parse(readFileSync(join(folderOf(name), "package.json"), "utf8")) as Manifest;
/** Files of one of our installed packages, without its dependencies. */
const filesOf = (name: string, pattern = "**/*"): string[] =>
  globSync(pattern, { cwd: folderOf(name), withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folderOf(name).length + 1)
        .replaceAll(sep, "/"),
    )
    .toSorted();

describe.each(PUBLISHED)("the tarball of %s", (name) => {
  it("contains code, declarations, sources, docs and the license, and nothing else", () => {
    const files = filesOf(name);
    // The files of the apps that it writes.
    const others =
      name === "create-calotype" ? files.filter((file) => !file.startsWith("templates/")) : files;
    const stray = others.filter(
      (file) =>
        !/^(?:package\.json|README\.md|SKILL\.md|LICENSE|THIRD_PARTY_LICENSES\.txt|sbom\.cdx\.json|CHANGELOG\.md|docs\/.+\.md|dist\/.+\.(?:c?js|c?js\.map|d\.c?ts|d\.ts\.map)|src\/.+\.ts|src\/features\/openapi\/openapi\.json|src\/read-schema\/schema\.prisma)$/.test(
          file,
        ),
    );

    expect(stray).toEqual([]);
    expect(files).toEqual(
      expect.arrayContaining([
        "LICENSE",
        "dist/index.js",
        "dist/index.d.ts",
        "sbom.cdx.json",
        "src/index.ts",
      ]),
    );
    const pages = PACKAGE_DOCS[name.replace("@calotype/", "")] ?? [];
    expect(others.filter((file) => file.endsWith(".md"))).toEqual(
      ["CHANGELOG.md", "README.md", "SKILL.md", ...pages.map((page) => `docs/${page}`)].toSorted(),
    );
    expect(others.filter((file) => /\.(?:test|spec|bench)\./.test(file))).toEqual([]);
  });

  it("has the license of each package in its bill of materials, because their code is in it", () => {
    const bill = JSON.parse(readFileSync(join(folderOf(name), "sbom.cdx.json"), "utf8")) as Bill;
    const file = join(folderOf(name), "THIRD_PARTY_LICENSES.txt");
    const sections = existsSync(file) ? readFileSync(file, "utf8").match(/^## \S+ \S+/gm) : [];

    const named = bill.components.map(({ group, name: base, version }) => {
      const full = group === undefined ? base : `${group}/${base}`;
      return `## ${full} ${version}`;
    });
    expect(sections).toEqual(named);
  });

  it("has no path of the workspace in its package.json", () => {
    expect(readFileSync(join(folderOf(name), "package.json"), "utf8")).not.toMatch(/workspace:|link:|file:/);
  });

  it("has docs whose links lead to files of the tarball or to the web", () => {
    const broken = filesOf(name, "{CHANGELOG.md,docs/**/*.md}").flatMap((page) => {
      const text = readFileSync(join(folderOf(name), page), "utf8").replaceAll(/^ *```[^]*?^ *```$/gm, "");
      const links = [...text.matchAll(/\]\((?!https?:|mailto:|#)([^)\s#]+)/g)].map(([, link = ""]) => link);
      return links
        .filter((link) => !existsSync(join(folderOf(name), dirname(page), link)))
        .map((link) => `${page}: ${link}`);
    });

    expect(broken).toEqual([]);
  });

  it("has every file that its package.json names", () => {
    const { exports = {}, imports = {}, bin = {} } = readManifest(name);
    const targets = [exports, imports, bin].flatMap(leavesOf);

    expect(targets).not.toEqual([]);
    expect(targets.filter((target) => !existsSync(join(folderOf(name), target)))).toEqual([]);
  });

  it("has source maps that name existing sources", () => {
    const maps = filesOf(name, "dist/**/*.map");
    const lost = maps.flatMap((map) => {
      const { sources } = JSON.parse(readFileSync(join(folderOf(name), map), "utf8")) as {
        sources: string[];
      };
      // The sources of bundled packages are in the map itself.
      const own = sources.filter((source) => !source.includes("/node_modules/"));
      const paths = own.map((source) => join(folderOf(name), dirname(map), source));
      return paths.filter((path) => !existsSync(path)).map((path) => `${map}: ${path}`);
    });

    expect(lost).toEqual([]);
    expect(filesOf(name, "dist/**/*.js").filter((file) => !maps.includes(`${file}.map`))).toEqual([]);
    expect(filesOf(name, "dist/**/*.d.ts").filter((file) => !maps.includes(`${file}.map`))).toEqual([]);
  });
});

const KEY = "caller-canary-8d2c6b71";
/** Slow, because the compiler reads the declarations of all installed packages. */
const COMPILING = { timeout: 60_000 };

describe("a project with the tarballs", () => {
  // In one process, because most of the packages load core.
  it("can require and import every entry point of every package, with the same exports", () => {
    const entries = PUBLISHED.flatMap((name) =>
      Object.keys(readManifest(name).exports ?? {})
        .filter((entry) => entry !== "./package.json")
        .map((entry) => name + entry.slice(1)),
    );
    const script = project.write(
      "require-all.cjs",
      `(async () => {
        for (const entry of ${JSON.stringify(entries)}) {
          const required = Object.keys(require(entry)).sort();
          const imported = Object.keys(await import(entry)).sort();
          if (String(required) !== String(imported)) throw new Error(entry);
        }
        console.log("same");
      })();`,
    );

    expect(run(process.execPath, [script], project.folder).trim()).toBe("same");
  });

  it("has a command that creates a key and its hash", () => {
    const printed = run("npx", ["--no-install", "calotype-key"], project.folder);

    const key = /^Key +(\S+)$/m.exec(printed)?.[1] ?? "";
    expect(key.length).toBe(47);
    expect(printed).toContain(`hash: "${createHash("sha256").update(key).digest("hex")}"`);
  });

  it("has a command that hashes a key from standard input", () => {
    const command = join(
      folderOf("@calotype/core"),
      readManifest("@calotype/core").bin?.["calotype-key"] ?? "",
    );
    const { status, stdout, stderr } = spawnSync(process.execPath, [command, "--hash"], {
      input: `${KEY}\n`,
      encoding: "utf8",
    });

    expect({ status, stdout, stderr }).toEqual({
      status: 0,
      stdout: `${createHash("sha256").update(KEY).digest("hex")}\n`,
      stderr: "",
    });
  });

  it("names the required Node version if Node is too old", () => {
    // Simulates an older Node: undici reads this function at import.
    project.write("old-node.mjs", 'import zlib from "node:zlib"; delete zlib.createZstdDecompress;');
    const script = project.write("import-core.mjs", 'import "@calotype/core";');
    const { status, stderr } = spawnSync(process.execPath, ["--import", "./old-node.mjs", script], {
      cwd: project.folder,
      encoding: "utf8",
    });

    expect(status).toBe(1);
    expect(stderr).toContain("calotype needs Node 22.19 or newer; this is Node ");
    expect(stderr).not.toContain("undici");
  });

  it("serves an image from an Express app", async () => {
    const url = await startApp();

    const response = await fetch(`${url}/ai/v1/images/generations`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "seedream-4-0-250828", prompt: "a red fox", size: "1280x720" }),
    });

    expect(response.status).toBe(200);
    const { data } = (await response.json()) as { data: { url: string }[] };
    const image = await fetch(data[0]?.url ?? "");
    const { width, height, format } = await sharp(await image.bytes()).metadata();
    expect({ width, height, format }).toEqual({ width: 1280, height: 720, format: "jpeg" });
  });

  const NODENEXT = { resolution: "nodenext", module: "nodenext", lib: ["es2023"] };
  const BUNDLER = { resolution: "bundler", module: "esnext", lib: ["es2023", "dom", "dom.iterable"] };
  const ONLY_FULL = [
    { ...NODENEXT, resolution: "node16", module: "node16", typescript: "5.6.3" },
    { ...BUNDLER, typescript: "5.6.3" },
    { ...NODENEXT, typescript: "5.9.3" },
    { ...BUNDLER, typescript: "5.9.3" },
    { ...NODENEXT, typescript: "7.0.2" },
  ];

  it.each([
    { ...BUNDLER, typescript: "7.0.2" },
    { ...NODENEXT, typescript: "5.6.3" },
    ...(isFull() ? ONLY_FULL : []),
  ])(
    "compiles with TypeScript $typescript and moduleResolution $resolution, declarations of libraries checked, but not a misspelled option",
    COMPILING,
    ({ resolution, module, lib, typescript }) => {
      project.write("prices.cts", PRICES_IN_COMMONJS);
      project.write("consumer.ts", CONSUMER);
      project.write("misspelled.ts", CONSUMER.replace("channels:", "channel:"));
      const config = project.write(
        `tsconfig.${resolution}.json`,
        JSON.stringify({
          compilerOptions: {
            strict: true,
            exactOptionalPropertyTypes: true,
            skipLibCheck: false,
            noEmit: true,
            target: "es2023",
            module,
            moduleResolution: resolution,
            lib,
            types: ["node"],
          },
          files: ["consumer.ts", "prices.cts", "misspelled.ts"],
        }),
      );
      const tsc = join(ROOT, COMPILERS[typescript] ?? "", "bin/tsc");
      expect(run(process.execPath, [tsc, "--version"], project.folder).trim()).toBe(`Version ${typescript}`);

      const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", config], {
        cwd: project.folder,
        encoding: "utf8",
      });

      // The second file has the only error, and in it the misspelled option.
      expect(stdout).toMatch(/^misspelled\.ts\(\d+,\d+\): error TS\d+: .*'channel'[^\n]*\n(?: [^\n]*\n)*$/);
      expect(status).not.toBe(0);
    },
  );
});

/** The compilers of the tests, by their version: the oldest that is supported, the last that is no native program, ours. */
const COMPILERS: Readonly<Record<string, string>> = {
  "5.6.3": "packages/conformance/node_modules/typescript5-6",
  "5.9.3": "packages/conformance/node_modules/typescript5",
  "7.0.2": "node_modules/typescript",
};

const PRICES_IN_COMMONJS = `import { calculateCharge, type Charge } from "@calotype/core/billing";
export const charge: Charge = calculateCharge({
  details: { pricing_mode: "per-request", model_price: "0.04" },
  usage: { generated_images: 4 },
});
`;

const CONSUMER = `import { createServer } from "node:http";
import { type Client, createClient, type ImagesResult } from "@calotype/client";
import { createGateway, GatewayError, type Gateway, type GatewayOptions, type UsageRecord } from "@calotype/core";
import { calculateCharge, type Charge } from "@calotype/core/billing";
import { createEmulator, type Emulator } from "@calotype/emulator";
import { toExpressHandler } from "@calotype/express";
import { handleNodeRequest, toNodeHandler } from "@calotype/node";
import { createTelemetry, type TelemetryOptions } from "@calotype/opentelemetry";
import { type UseImages, useImages } from "@calotype/react";
import { createRedisAdmissionStore } from "@calotype/redis";
import { createS3Store, type S3Store } from "@calotype/s3";
import { createSqliteLedger, type SqliteLedger } from "@calotype/sqlite";
import express from "express";
import { Redis } from "ioredis";

const telemetryOptions: TelemetryOptions = { callerInMetrics: true };
const options: GatewayOptions = {
  telemetry: createTelemetry(telemetryOptions),
  models: { a: { family: "seedream" } },
  channels: [{ id: "ark", family: "seedream", apiKey: process.env["ARK_API_KEY"] }],
  authenticate: async (apiKey) => {
    if (apiKey === "") throw new GatewayError("invalid_api_key", "No key.");
    return { id: "me" };
  },
  onUsage: (record: UsageRecord) => record.charge,
};
export const gateway: Gateway = createGateway(options);
export const charge: Charge = calculateCharge({
  details: { pricing_mode: "per-request", model_price: "0.04" },
  usage: { generated_images: 4 },
});
export const emulator: Emulator = createEmulator({ images: "tiny" });
export const ledger: SqliteLedger = createSqliteLedger({ path: ":memory:" });
export const admission = createRedisAdmissionStore({ client: new Redis(), whenAway: { limits: "open" } });
export const store: S3Store = createS3Store({ region: "eu-west-1", bucket: "abc", accessKeyId: "a", secretAccessKey: "b" });
export const client: Client = createClient({ baseUrl: "http://localhost/ai" });
export const images: Promise<ImagesResult> = client.generate({ model: "a", prompt: "a fox", n: 2 });
export const useFoxes = (): UseImages => useImages({ client, storageKey: "foxes" });
export const response: Promise<Response> = gateway.fetch(new Request("http://localhost/"));
export const app = express().use("/ai", toExpressHandler(gateway));
export const server = createServer(toNodeHandler(gateway));
export const raw = createServer((req, res) => void handleNodeRequest(gateway, req, res));
`;

const APP = `import { createServer } from "node:http";
import { createGateway } from "@calotype/core";
import { createEmulator } from "@calotype/emulator";
import { toExpressHandler } from "@calotype/express";
import express from "express";

const providers = await createEmulator().listen();
const gateway = createGateway({
  models: { "seedream-4-0-250828": { family: "seedream" } },
  channels: [{ id: "ark", family: "seedream", apiKey: "channel-canary-46e0a9f3", baseUrl: providers.arkBaseUrl }],
  callers: [{ id: "me", key: "${KEY}" }],
});
const server = createServer(express().use("/ai", toExpressHandler(gateway)));
server.listen(0, "127.0.0.1", () => console.log("http://127.0.0.1:" + server.address().port));
`;

/** Starts the app of the project in a separate process and returns its address. */
async function startApp(): Promise<string> {
  const app = spawn(process.execPath, [project.write("app.js", APP)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void app.kill());
  const [url] = (await once(createInterface(app.stdout), "line")) as [string];
  return url;
}

/** Every path in a tree of export conditions. */
function leavesOf(tree: unknown): string[] {
  if (typeof tree === "string") return [tree];
  return typeof tree === "object" && tree !== null ? Object.values(tree).flatMap(leavesOf) : [];
}
