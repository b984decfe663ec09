import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createApp } from "./create-app.js";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "create-calotype-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

/** Runs the command without a terminal. */
async function run(args: readonly string[], host: { packageManager?: string; nodeVersion?: string } = {}) {
  let output = "";
  let errors = "";
  const code = await createApp(args, {
    version: "1.2.3",
    canAsk: false,
    packageManager: "npm",
    nodeVersion: "24.0.0",
    write: (text) => (output += text),
    writeError: (text) => (errors += text),
    ...host,
  });
  return { code, output, errors };
}

const read = (path: string): string => readFileSync(join(folder, path), "utf8");

describe("without a terminal", () => {
  it("asks nothing: what is not named has its default", async () => {
    const { code, output } = await run([join(folder, "My Shop!")]);

    expect(code).toBe(0);
    expect(output).toContain("npm install\n  npm run dev");
    expect(output).toContain(
      "Chosen: --framework express --providers seedream,qwen-image --store sqlite --sign-in none\n",
    );
    expect(JSON.parse(read("My Shop!/package.json"))).toMatchObject({
      name: "my-shop",
      dependencies: { "@calotype/express": "^1.2.3", "@calotype/sqlite": "^1.2.3" },
    });
    expect(read("My Shop!/gateway.ts")).toContain("seedream.channel,\n    qwenImage.channel,\n  ]");
  });

  it("takes the choices from the command line", async () => {
    const { code } = await run([
      folder,
      "--framework",
      "fastify",
      "--providers",
      "gemini, openai",
      "--store=memory",
    ]);

    expect(code).toBe(0);
    expect(read("server.ts")).toContain('from "fastify"');
    expect(readdirSync(join(folder, "providers"))).toEqual(
      expect.arrayContaining(["gemini.ts", "openai.ts"]),
    );
    expect(read("README.md")).toContain("gemini-nano-banana-2.1");
  });

  it("takes memory where SQLite does not work", async () => {
    expect((await run([folder, "--framework", "workers"])).code).toBe(0);
    expect(read("stores.ts")).toContain("Everything is in memory");
  });
});

/** Makes a folder of tarballs without content. */
function pack(...files: readonly string[]): string {
  const packages = join(folder, "packages");
  mkdirSync(packages);
  for (const file of files) writeFileSync(join(packages, file), "");
  return packages;
}

describe("with --packages", () => {
  it("installs the tarballs of the folder, also those of packages below the app's own", async () => {
    const packages = pack(
      "calotype-core-1.2.3.tgz",
      "calotype-redis-1.2.3-next.0.tgz",
      "create-calotype-1.2.3.tgz",
    );

    expect((await run([join(folder, "shop"), "--packages", packages])).code).toBe(0);
    expect(JSON.parse(read("shop/package.json"))).toMatchObject({
      dependencies: {
        "@calotype/core": "file:../packages/calotype-core-1.2.3.tgz",
        "@calotype/express": "^1.2.3",
      },
      overrides: { "@calotype/redis": "file:../packages/calotype-redis-1.2.3-next.0.tgz" },
    });
  });

  it.each([
    [[], "has no tarball of @calotype/core"],
    [["calotype-core-1.2.3.tgz", "calotype-core-1.2.4.tgz"], "has two tarballs of @calotype/core"],
  ])("writes nothing for a folder with %j", async (files, problem) => {
    const { code, errors } = await run([join(folder, "shop"), "--packages", pack(...files)]);

    expect({ code, errors }).toEqual({ code: 1, errors: expect.stringContaining(problem) });
    expect(readdirSync(folder)).toEqual(["packages"]);
  });
});

describe("refuses", () => {
  it.each([
    [["--framework", "expres"], /--framework does not know "expres"\. Choose from: express, fastify,/],
    [["--providers", "seedream,dalle"], /--providers does not know "dalle"/],
    [["--providers", ""], /--providers does not know ""/],
    [["--store", "mysql"], /--store does not know "mysql"\. Choose from: memory, sqlite,/],
    [["--framework", "lambda", "--store", "sqlite"], /sqlite does not work with AWS Lambda\..*postgres/],
    [["--sign-in", "auth-js"], /--sign-in does not know "auth-js"\. Choose from: none, better-auth\./],
    [
      ["--framework", "nestjs", "--sign-in", "better-auth"],
      /sign-in better-auth does not work with NestJS\. .*compiled.* Choose one of: none\./,
    ],
    [["--frame", "express"], /--frame/],
    [["a", "b"], /One folder/],
  ])("%j, and writes nothing", async (args, message) => {
    const { code, errors } = await run([...args, ...(args[0] === "a" ? [] : [join(folder, "app")])]);

    expect(code).toBe(1);
    expect(errors).toMatch(message);
    expect(errors).toContain("--help");
    expect(readdirSync(folder)).toEqual([]);
  });

  it("a folder that is not empty", async () => {
    writeFileSync(join(folder, "server.ts"), "mine");
    const { code, errors } = await run([folder]);

    expect(code).toBe(1);
    expect(errors).toContain(`${folder} is not empty: it contains server.ts`);
    expect(readdirSync(folder)).toEqual(["server.ts"]);
    expect(read("server.ts")).toBe("mine");
  });

  it("a file", async () => {
    writeFileSync(join(folder, "app"), "mine");

    expect((await run([join(folder, "app")])).errors).toContain("is a file");
    expect(read("app")).toBe("mine");
  });
});

it("writes into a new git repository", async () => {
  mkdirSync(join(folder, ".git"));

  expect((await run([folder])).code).toBe(0);
  expect(read(".gitignore")).toContain(".env\n");
});

it("shows every choice in its help, and its version", async () => {
  const { output } = await run(["--help"]);

  expect(output).toMatch(/--framework NAME +express, .*lambda/);
  expect(output).toMatch(/--store NAME +memory, sqlite, postgres, postgres-redis/);
  expect(output).toMatch(/--sign-in NAME +none, better-auth/);
  expect((await run(["--version"])).output).toBe("1.2.3\n");
});

it("names the page of an app with signed-in users", async () => {
  const { output } = await run([folder, "--sign-in", "better-auth"]);

  expect(output).toContain("Then open http://localhost:8787/, create an account and make an image.");
  expect(read("page/page.tsx")).toContain("<SignIn />");
  expect(read("README.md")).toMatch(/npm run dev\n```\n\nOpen <http:\/\/localhost:8787\/>/);
});

it("names the servers that the store needs", async () => {
  expect((await run([folder, "--store", "postgres-redis"])).output).toContain(
    "Before npm run dev, start PostgreSQL and Redis",
  );
});

it("names the package manager that runs it, and a Node that is too old", async () => {
  const { output } = await run([folder], { packageManager: "pnpm", nodeVersion: "22.18.0" });

  expect(output).toContain("pnpm install\n  pnpm run dev");
  expect(output).toContain("needs Node 22.19 or newer; this is Node 22.18.0");
});
