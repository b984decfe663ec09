import { rmSync } from "node:fs";
import { join } from "node:path";
import { run } from "@calotype/conformance/support/run";
import { readText } from "@calotype/conformance/support/workspace";
import { describe, expect, it, onTestFinished } from "vitest";
import { type AppChoices, FRAMEWORKS, namesOf, PROVIDERS, STORES, signInsOf, storesOf } from "./choices.js";
import { planApp } from "./plan-app.js";
import { GENERATED, generateApp } from "./testing/generate-app.js";

const NAMES = { name: "shop", range: "^1.2.3" };
const ALL = namesOf(PROVIDERS);
const PLAIN: AppChoices = { framework: "express", providers: ["seedream"], store: "memory", signIn: "none" };

const read = (choices: AppChoices, path: string): string => planApp(choices, NAMES).get(path) ?? "";
const readmeOf = (framework: AppChoices["framework"]): string => read({ ...PLAIN, framework }, "README.md");
/** The files of the page, which is in a folder of the framework. */
const readPage = (framework: AppChoices["framework"], folder: string) => {
  const files = planApp({ ...PLAIN, framework, signIn: "better-auth" }, NAMES);
  return ["page.tsx", "images.tsx", "sign-in.tsx", "style.css"].map((file) => files.get(`${folder}/${file}`));
};
const manifestOf = (choices: AppChoices) => JSON.parse(read(choices, "package.json"));

describe("an app", () => {
  const all: AppChoices[] = ALL.map((provider) => ({ ...PLAIN, providers: [provider] }));
  for (const framework of namesOf(FRAMEWORKS))
    for (const store of storesOf(framework)) all.push({ framework, providers: ALL, store, signIn: "none" });
  const withUsers = namesOf(FRAMEWORKS).filter((framework) => signInsOf(framework).includes("better-auth"));
  for (const framework of withUsers)
    for (const store of ["sqlite", "postgres"] as const)
      all.push({ framework, providers: ["seedream"], store, signIn: "better-auth" });

  it("compiles with every framework, store and provider", { timeout: 120_000 }, () => {
    // Two of Next.js with users cannot be in one program: the types of their global variable differ.
    for (const choices of all.filter(({ framework, signIn }) => framework !== "next" || signIn === "none"))
      generateApp(`types/${Object.values(choices).flat().join("-")}`, choices);
    onTestFinished(() => rmSync(join(GENERATED, "types"), { recursive: true }));
    const tsc = join(import.meta.dirname, "../../../node_modules/typescript/bin/tsc");

    // One configuration for all: that of Next.js needs DOM types, that of NestJS decorators.
    expect(
      run(process.execPath, [tsc, "-p", join(import.meta.dirname, "../tsconfig.generated.json")], GENERATED),
    ).toBe("");
    expect(all.length).toBeGreaterThan(35);
    // And the configurations of the apps themselves.
    for (const framework of ["bun", "express", "nestjs", "next"] as const) {
      const folder = generateApp(`types/${framework}`, { ...PLAIN, framework });
      expect(run(process.execPath, [tsc, "--noEmit"], folder)).toBe("");
    }
    for (const [framework, store, projects] of [
      ["express", "memory", [".", "page"]],
      ["next", "sqlite", ["."]],
      ["next", "postgres", ["."]],
    ] as const) {
      const folder = generateApp(`types/${framework}`, { ...PLAIN, framework, store, signIn: "better-auth" });
      for (const project of projects) expect(run(process.execPath, [tsc, "-p", project], folder)).toBe("");
    }
  });

  it.each(all)("has the files that it names: $framework, $store, $providers, $signIn", (choices) => {
    const files = planApp(choices, NAMES);
    const paths = [...files.keys()];

    expect(paths).toEqual(
      expect.arrayContaining([".env.example", ".gitignore", "README.md", "package.json"]),
    );
    for (const [path, text] of files) {
      for (const [, imported = ""] of text.matchAll(/from "\.\/([^"]+)"/g))
        expect(paths).toContain(join(path, "..", imported));
      expect(`${path}: ${text}`).not.toMatch(/workspace:|my-app/);
    }
    for (const [, named = ""] of read(choices, "README.md").matchAll(/^\| `([^`]+)`/gm))
      expect(paths.some((path) => path === named || path.startsWith(named))).toBe(true);
    const scripts: Record<string, string> = JSON.parse(files.get("package.json") ?? "").scripts;
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(["dev", "start", "test", "typecheck"]));
  });

  it("has only the providers that were chosen", () => {
    const files = planApp({ ...PLAIN, providers: ["openai"] }, NAMES);

    expect([...files.keys()].filter((path) => path.startsWith("providers/"))).toEqual([
      "providers/openai.test.ts",
      "providers/openai.ts",
      "providers/provider.ts",
    ]);
    expect(files.get("gateway.ts")).toContain("openai.channel,");
    expect(files.get("gateway.ts")).not.toMatch(/seedream\.|qwenImage|gemini/);
    expect(files.get("emulate-providers.ts")).toContain("OPENAI");
    expect(files.get("emulate-providers.ts")).not.toMatch(/ARK|DASHSCOPE|GEMINI/);
    expect(files.get(".env.example")).toMatch(/OPENAI_API_KEY=\n$/);
    expect(files.get(".env.example")).not.toMatch(/ARK|DASHSCOPE|GEMINI/);
    expect(files.get("README.md")).toContain('"model": "gpt-image-2"');
  });

  it.each(namesOf(FRAMEWORKS))("has nothing of the sign-in without it: %s", (framework) => {
    for (const [path, text] of planApp({ ...PLAIN, framework }, NAMES))
      expect(`${path}: ${text}`).not.toMatch(
        /auth\.ts|better-auth|findUser|site\b|page\.tsx|@calotype\/react|faults|results.ts/,
      );
  });

  it("has the same page in every framework with sign-in", () => {
    const page = readPage("express", "page");

    expect(page).not.toContain(undefined);
    expect(readPage("hono", "page")).toEqual(page);
    expect(readPage("next", "app")).toEqual(page);
  });

  it("has a README that names no file and no store that it cannot have", () => {
    expect(readmeOf("workers")).not.toMatch(/Dockerfile|@calotype\/(?:sqlite|postgres)/);
    expect(readmeOf("lambda")).toContain("@calotype/postgres");
    expect(readmeOf("lambda")).not.toContain("@calotype/sqlite");
    expect(readmeOf("express")).toMatch(/4\. .*Dockerfile.*[^]*@calotype\/sqlite[^]*@calotype\/postgres/);
  });

  it("says first which servers must run, and how to start them", () => {
    const readme = read({ ...PLAIN, store: "postgres-redis" }, "README.md");

    expect(readme.indexOf("First start PostgreSQL and Redis")).toBeLessThan(readme.indexOf("npm run dev"));
    expect(readme).toContain("First start PostgreSQL and Redis");
    expect(readme).toContain("\n## Store\n");
    expect(read({ ...PLAIN, store: "sqlite" }, "README.md")).not.toContain("First start");
  });

  it("has our packages in the given range, and the packages of its store", () => {
    const { name, dependencies, devDependencies } = manifestOf({ ...PLAIN, store: "postgres-redis" });

    expect(name).toBe("shop");
    expect(dependencies).toMatchObject({
      "@calotype/core": "^1.2.3",
      "@calotype/express": "^1.2.3",
      "@calotype/postgres": "^1.2.3",
      "@calotype/redis": "^1.2.3",
    });
    expect(devDependencies).toMatchObject({ "@calotype/emulator": "^1.2.3" });
    expect(manifestOf(PLAIN).dependencies).not.toHaveProperty("@calotype/postgres");
  });

  it("has the versions of other packages that the workspace tests", () => {
    const files = ["package.json", "packages/create-calotype/package.json"];
    const tested: Record<string, string> = Object.assign(
      {},
      ...files.map((file) => JSON.parse(readText(file)).devDependencies),
    );
    const wanted = all.flatMap((choices) => {
      const { dependencies, devDependencies } = manifestOf(choices);
      return Object.entries<string>({ ...dependencies, ...devDependencies });
    });
    const differing = new Map(
      wanted.filter(
        ([name, range]) =>
          !name.startsWith("@calotype/") && range.replace("^", "") !== tested[name]?.replace("^", ""),
      ),
    );

    // The tests of `npm run test:full` install it.
    expect([...differing.keys()]).toEqual(["wrangler"]);
  });

  it("has the option families only for those that are not built in", () => {
    expect(read(PLAIN, "gateway.ts")).toContain("createGateway({\n  models: {");
    expect(read({ ...PLAIN, providers: ["gemini"] }, "gateway.ts")).toContain(
      "gemini.family,\n  ],\n  models: {",
    );
  });

  it.each(namesOf(STORES))("names the variables of %s in .env.example", (store) => {
    const choices = { ...PLAIN, store };
    const variables = [...read(choices, "stores.ts").matchAll(/process\.env\.(\w+)/g)].map(
      ([, name]) => `${name}=`,
    );

    for (const variable of variables) expect(read(choices, ".env.example")).toContain(variable);
  });
});
