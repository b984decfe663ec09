// Starts the emulator and the Express app of this repository, and drives the app with the official
// OpenAI client. Nothing leaves this machine. `--serve` keeps both running after the tour.
import { once } from "node:events";
import { mkdir, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { createEmulator } from "@calotype/emulator";
import OpenAI from "openai";
import { formatCurl, formatProgress, formatTable } from "./report.ts";
import { runStep, type StepResult } from "./run-step.ts";
import { type App, startApp } from "./start-app.ts";
import { tour } from "./tour.ts";

const API_KEY = "sk-demo";
const folder = process.env.DEMO_OUTPUT || fileURLToPath(new URL("../../demo-output", import.meta.url));

const emulator = await createEmulator({ seed: 1841, millisecondsPerImage: 150 }).listen();
try {
  const app = await startApp({
    PORT: process.env.PORT || "0",
    CALOTYPE_API_KEY: API_KEY,
    ARK_BASE_URL: emulator.arkBaseUrl,
    ARK_API_KEY: "ark-demo-key",
    DASHSCOPE_BASE_URL: emulator.dashscopeBaseUrl,
    DASHSCOPE_API_KEY: "dashscope-demo-key",
  });
  try {
    console.log(`The gateway answers at ${app.baseUrl}; its providers are emulated at ${emulator.url}.\n`);
    showResults(await takeTour(app), app);
    if (process.argv.includes("--serve")) await serveUntilStopped(app);
  } finally {
    await app.stop();
  }
} finally {
  await emulator.close();
}

async function takeTour(app: App): Promise<readonly StepResult[]> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const results: StepResult[] = [];
  const context = {
    client: new OpenAI({ baseURL: app.baseUrl, apiKey: API_KEY, maxRetries: 0 }),
    findPicture: (file: string) => findPicture(results, file),
    onImage: showProgress,
  };
  for (const [index, step] of tour.entries()) {
    console.log(`${step.title} (${step.request.model})`);
    const result = await runStep(step, context, { app, prefix: join(folder, String(index + 1)) });
    results.push(result);
    console.log(`  ${result.files.map((file) => relative(process.cwd(), file)).join("  ")}`);
  }
  return results;
}

/** One line that grows on a terminal, a line for each image elsewhere. */
function showProgress(count: number, total: number): void {
  const isLast = count === total;
  const end = process.stdout.isTTY && !isLast ? "\r" : "\n";
  process.stdout.write(`  ${formatProgress(count, total)}${end}`);
}

function findPicture(results: readonly StepResult[], file: string): string {
  const [picture] = results.find(({ step }) => step.file === file)?.files ?? [];
  if (picture === undefined) throw new Error(`No step has made ${file} yet.`);
  return picture;
}

function showResults(results: readonly StepResult[], app: App): void {
  console.log(`\n${formatTable(results)}\n`);
  console.log("Each call again, while the app runs (npm run demo -- --serve keeps it up):\n");
  for (const result of results) {
    const { step } = result;
    const picture =
      step.kind === "edit" ? relative(process.cwd(), findPicture(results, step.picture)) : undefined;
    console.log(`# ${step.title}\n${formatCurl(result, app.baseUrl, API_KEY, picture)}\n`);
  }
}

async function serveUntilStopped(app: App): Promise<void> {
  console.log(`Serving at ${app.baseUrl} with the API key ${API_KEY}. Ctrl+C ends it.`);
  const keepAlive = setInterval(() => {}, 60_000);
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  clearInterval(keepAlive);
}
