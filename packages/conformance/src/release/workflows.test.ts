import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { findFiles, ROOT, readText } from "../support/workspace.js";

// GitHub itself finds a mistake in a workflow only when it runs, so these tests read the files before.

interface WorkflowStep {
  readonly uses?: string;
  readonly run?: string;
  readonly name?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}

interface Job {
  readonly "runs-on"?: string;
  readonly "timeout-minutes"?: number;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly string[]>> };
  readonly needs?: string | readonly string[];
  readonly if?: string;
  readonly steps?: readonly WorkflowStep[];
  /** The path of another workflow, which is the job. */
  readonly uses?: string;
}

interface Workflow {
  readonly name: string;
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: Readonly<Record<string, string>>;
  readonly concurrency: object;
  readonly env?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

/** The fields that a workflow, a job and a step may have here. A misspelled one is not found by GitHub. */
const KNOWN = {
  workflow: ["name", "on", "permissions", "concurrency", "env", "jobs"],
  job: [
    "runs-on",
    "timeout-minutes",
    "permissions",
    "environment",
    "strategy",
    "services",
    "steps",
    "env",
    "needs",
  ],
  call: ["permissions", "uses", "needs"],
  step: ["uses", "run", "name", "with", "env", "id", "if"],
};

/** The inputs of the actions, in the versions that the workflows use. An unknown one stops the action, or is ignored. */
const INPUTS: Readonly<Record<string, readonly string[]>> = {
  "actions/checkout@v7.0.1": ["fetch-depth", "persist-credentials"],
  "actions/setup-node@v7.0.0": ["node-version"],
  "changesets/action@v2.1.1": ["version-script", "publish-script", "create-github-releases"],
};

const { scripts } = JSON.parse(readText("package.json")) as { scripts: Readonly<Record<string, string>> };

const readYaml = (path: string): unknown => parse(readText(path), { strict: true, uniqueKeys: true });
const workflows = findFiles(".github/workflows/*").map((path) => [path, readYaml(path) as Workflow] as const);
const stepsOf = ({ jobs }: Workflow): WorkflowStep[] =>
  Object.values(jobs).flatMap(({ steps = [] }) => steps);
const unknown = (value: object, known: readonly string[]): string[] =>
  Object.keys(value).filter((key) => !known.includes(key));

it("there are workflows for tests and for releases", () => {
  expect(workflows.map(([path]) => path)).toEqual([
    ".github/workflows/release.yml",
    ".github/workflows/test.yml",
  ]);
});

const workflowAt = (path: string): Workflow => {
  const [, workflow] = workflows.find(([file]) => file === path) ?? [];
  if (workflow === undefined) throw new Error(`There is no ${path}.`);
  return workflow;
};
const RELEASE = workflowAt(".github/workflows/release.yml");
const TEST = workflowAt(".github/workflows/test.yml");

describe.each(workflows)("%s", (_, workflow) => {
  it("has only known fields, on a fixed system and with a limit of time", () => {
    expect(unknown(workflow, KNOWN.workflow)).toEqual([]);
    for (const job of Object.values(workflow.jobs)) {
      expect(unknown(job, job.uses === undefined ? KNOWN.job : KNOWN.call)).toEqual([]);
      if (job.uses !== undefined) continue;
      expect(job["runs-on"]).toMatch(/^ubuntu-\d\d\.04$/);
      expect(job["timeout-minutes"]).toBeLessThanOrEqual(60);
      for (const step of job.steps ?? []) {
        expect(unknown(step, KNOWN.step)).toEqual([]);
        expect(Object.keys(step).filter((key) => key === "uses" || key === "run")).toHaveLength(1);
      }
    }
  });

  it("uses actions in exact versions", () => {
    const uses = stepsOf(workflow).flatMap((step) => step.uses ?? []);
    expect(uses.filter((action) => !/^[\w-]+\/[\w-]+@(?:v\d+\.\d+\.\d+|[0-9a-f]{40})$/.test(action))).toEqual(
      [],
    );
    expect(uses).not.toEqual([]);
  });

  it("gives the actions inputs that they have", () => {
    const wrong = stepsOf(workflow).flatMap(({ uses, with: inputs = {} }) =>
      uses === undefined ? [] : unknown(inputs, INPUTS[uses] ?? []).map((input) => `${uses}: ${input}`),
    );
    expect(wrong).toEqual([]);
    expect(stepsOf(workflow).filter(({ uses }) => uses !== undefined && INPUTS[uses] === undefined)).toEqual(
      [],
    );
  });

  it("names jobs and workflows that exist, and gives a called one the permissions that it asks for", () => {
    for (const { needs = [], uses, permissions } of Object.values(workflow.jobs)) {
      expect(
        unknown(Object.fromEntries([needs].flat().map((name) => [name, true])), Object.keys(workflow.jobs)),
      ).toEqual([]);
      if (uses === undefined) continue;
      const called = workflowAt(uses.replace(/^\.\//, ""));
      expect(called.on).toHaveProperty("workflow_call");
      expect(permissions).toEqual(called.permissions);
      // Two runs of one group wait for each other.
      expect(called.concurrency).not.toEqual(workflow.concurrency);
    }
  });

  it("has no permission that it does not need", () => {
    const granted = [
      workflow.permissions,
      ...Object.values(workflow.jobs).map((job) => job.permissions ?? {}),
    ];
    const writes = granted.flatMap((permissions) =>
      Object.entries(permissions).flatMap(([name, value]) => (value === "write" ? name : [])),
    );
    expect(workflow.permissions).toBeDefined();
    expect(writes).toEqual(workflow.name === "Release" ? ["contents", "pull-requests", "id-token"] : []);
  });

  it("runs commands that exist", () => {
    const commands = stepsOf(workflow).flatMap(({ run, with: inputs = {} }) => [
      ...(run ?? "").split("\n"),
      ...[inputs["version-script"], inputs["publish-script"]].filter((input) => typeof input === "string"),
    ]);
    const wrong = commands.filter((command) => {
      if (command === "" || command.startsWith("sudo apt-get ")) return false;
      const [, script] = /^npm run ([\w:]+)(?: -- .+)?$/.exec(command) ?? [];
      if (script !== undefined) return scripts[script] === undefined;
      return !(existsSync(join(ROOT, command)) && (statSync(join(ROOT, command)).mode & 0o111) !== 0);
    });
    expect(wrong).toEqual([]);
  });

  it("refers only to what it defines", () => {
    const text = JSON.stringify(workflow);
    const matrix = Object.values(workflow.jobs).flatMap(({ strategy }) =>
      Object.keys(strategy?.matrix ?? {}),
    );
    const known = new Set(["github.ref", ...matrix.map((name) => `matrix.${name}`)]);
    const used = [...text.matchAll(/\$\{\{ ?([^}]*?) ?\}\}/g)].map(([, expression = ""]) => expression);
    expect(used.filter((expression) => !known.has(expression))).toEqual([]);
    // What someone else can write must not get into a command.
    expect(stepsOf(workflow).filter(({ run = "" }) => run.includes("github.event"))).toEqual([]);
  });
});

it("the tests run on every supported version of Node, and on Bun", () => {
  expect(TEST.jobs["runtimes"]?.strategy?.matrix["runtime"]).toEqual(
    expect.arrayContaining(["Node 22", "Node 24", "Node 26", "Bun"]),
  );
});

it("a commit is tested once: by its pull request, and on main before its release", () => {
  expect(Object.keys(TEST.on)).toEqual(["pull_request", "workflow_call"]);
  expect(RELEASE.on).toEqual({ push: { branches: ["main"] } });
  expect(RELEASE.jobs["tests"]?.uses).toBe("./.github/workflows/test.yml");
});

it("a release waits for the tests, and a failed test stops it", () => {
  expect(RELEASE.jobs["release"]?.needs).toBe("tests");
  // With a condition such as always() it would not wait.
  expect(RELEASE.jobs["release"]?.if).toBeUndefined();
});

it("a release has provenance, and no token of npm", () => {
  const publish = stepsOf(RELEASE).find(({ with: inputs }) => inputs?.["publish-script"] !== undefined);
  expect(publish?.env).toEqual({ PNPM_CONFIG_PROVENANCE: "true" });
  expect(RELEASE.jobs["release"]?.permissions?.["id-token"]).toBe("write");
  expect(JSON.stringify(RELEASE)).not.toContain("secrets.");
});

it.each(findFiles(".github/ISSUE_TEMPLATE/*.yml").filter((path) => !path.endsWith("config.yml")))(
  "%s is a form",
  (path) => {
    const form = readYaml(path) as {
      readonly name: string;
      readonly description: string;
      readonly body: readonly { readonly type: string; readonly id: string; readonly attributes: object }[];
    };
    expect(unknown(form, ["name", "description", "labels", "body"])).toEqual([]);
    expect(form.name.length * form.description.length).toBeGreaterThan(0);
    expect(form.body.length).toBeGreaterThan(0);
    const ids = form.body.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { type, attributes } of form.body) {
      expect(["input", "textarea"]).toContain(type);
      expect(attributes).toHaveProperty("label");
    }
  },
);
