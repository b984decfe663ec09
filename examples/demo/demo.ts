// Starts the emulator and the Express app of this repository, and drives the app with the official
// OpenAI client. Nothing leaves this machine. `--serve` keeps both running after the tour.
import { once } from "node:events";
import { mkdir, rm } from "node:fs/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { createEmulator } from "@calotype/emulator";
import OpenAI from "openai";
import { formatCurl, formatTable } from "./report.ts";
import { runStep, type StepResult } from "./run-step.ts";
import { startApp } from "./start-app.ts";
import { tour } from "./tour.ts";

const API_KEY = "sk-demo";
const folder = fileURLToPath(new URL("../../demo-output", import.meta.url));

const emulator = await createEmulator({ seed: 1841 }).listen();
const app = await startApp({
  PORT: process.env.PORT || "0",
  CALOTYPE_API_KEY: API_KEY,
  ARK_BASE_URL: emulator.arkBaseUrl,
  ARK_API_KEY: "ark-demo",
  DASHSCOPE_BASE_URL: emulator.dashscopeBaseUrl,
  DASHSCOPE_API_KEY: "dashscope-demo",
});

try {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await showTour();
  if (process.argv.includes("--serve")) await serveUntilStopped();
} finally {
  await app.stop();
  await emulator.close();
}

async function showTour(): Promise<void> {
  console.log(`The gateway answers at ${app.baseUrl}, its providers are emulated at ${emulator.url}.\n`);
  const client = new OpenAI({ baseURL: app.baseUrl, apiKey: API_KEY, maxRetries: 0 });
  const results: StepResult[] = [];
  for (const [index, step] of tour.entries()) {
    const result = await runStep(client, app, { step, number: index + 1, folder });
    results.push(result);
    console.log(`${step.title}: ${result.files.map((file) => relative(process.cwd(), file)).join(", ")}`);
  }
  console.log(`\n${formatTable(results)}\n`);
  console.log("Each call again, as long as the app runs (npm run demo -- --serve keeps it up):\n");
  for (const step of tour) console.log(`# ${step.title}\n${formatCurl(step, app.baseUrl, API_KEY)}\n`);
}

async function serveUntilStopped(): Promise<void> {
  console.log(`Serving at ${app.baseUrl} with the API key ${API_KEY}. Ctrl+C ends it.`);
  const keepAlive = setInterval(() => {}, 60_000);
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  clearInterval(keepAlive);
}
