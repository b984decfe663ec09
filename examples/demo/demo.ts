// Starts emulators of the providers and the Express app of this repository, and drives the app with the
// official OpenAI client. Nothing leaves this machine. `--serve` keeps all of it running after the tour.
import { once } from "node:events";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { createEmulator } from "@calotype/emulator";
import { formatCurl } from "./format-curl.ts";
import { createOptions, KEYS } from "./options.ts";
import type { StepResult } from "./run-step.ts";
import { showBooks } from "./show-books.ts";
import { showBounds } from "./show-bounds.ts";
import { showFailover } from "./show-failover.ts";
import { findPicture, showCharges, showPictures } from "./show-pictures.ts";
import { showRepeat } from "./show-repeat.ts";
import type { Stage } from "./stage.ts";
import { type App, startApp } from "./start-app.ts";

const folder = process.env.DEMO_OUTPUT || fileURLToPath(new URL("../../demo-output", import.meta.url));
const shown = relative(process.cwd(), folder) || ".";
const isServing = process.argv.includes("--serve");

const providers = createEmulator({ seed: 1841, millisecondsPerImage: 150 });
const near = await providers.listen();
const far = await createEmulator({ seed: 1842, millisecondsPerImage: 150 }).listen();
try {
  const app = await startGateway();
  try {
    const results = await takeTour({ app, providers, folder });
    if (isServing) await serveUntilStopped(app, results);
  } finally {
    await app.stop();
  }
} finally {
  await near.close();
  await far.close();
}

async function startGateway(): Promise<App> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const config = join(folder, "options.json");
  await writeFile(config, `${JSON.stringify(createOptions(near, far), null, 2)}\n`);
  const environment = {
    PORT: process.env.PORT || "0",
    CALOTYPE_CONFIG: config,
    CALOTYPE_LEDGER: join(folder, "ledger.db"),
  };
  return startApp(environment, join(folder, "app.log"));
}

async function takeTour(stage: Stage): Promise<readonly StepResult[]> {
  console.log(`The gateway responds at ${stage.app.baseUrl}, with the options of ${shown}/options.json.`);
  console.log("Its providers, Ark and DashScope, are emulated: the pictures are placeholders.");

  console.log("\n1. Pictures: the official OpenAI client, two providers\n");
  const results = await showPictures(stage);

  console.log("\n2. What they cost web-shop: its group pays 0.8 of each price, exact to the last decimal\n");
  showCharges(results);

  console.log("\n3. A provider fails: dashscope responds with 503, dashscope-intl steps in\n");
  await showFailover(stage);

  console.log("\n4. A key with bounds: trial may spend 0.50 in all, and send 3 requests a minute\n");
  await showBounds(stage);

  console.log("\n5. One request, sent twice with one Idempotency-Key: it is charged once\n");
  await showRepeat(stage);

  console.log(`\n6. The books: GET /operator, kept in ${shown}/ledger.db, which outlives the app\n`);
  await showBooks(stage);

  console.log(
    `\nIn ${shown}: the pictures, options.json, ledger.db, and app.log, where the failures of 3 stand.`,
  );
  if (!isServing)
    console.log("npm run demo -- --serve keeps all of it up, and prints a curl line for each call.");
  return results;
}

async function serveUntilStopped(app: App, results: readonly StepResult[]): Promise<void> {
  for (const { step } of results) {
    const picture = step.kind === "edit" ? findPicture(results, step.picture) : undefined;
    const target = { baseUrl: app.baseUrl, apiKey: KEYS.webShop };
    console.log(
      `\n# ${step.title}\n${formatCurl(step, target, picture && relative(process.cwd(), picture))}`,
    );
  }
  console.log(`\nServing at ${app.baseUrl} with the API key ${KEYS.webShop}. Ctrl+C ends it.`);
  const keepAlive = setInterval(() => {}, 60_000);
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  clearInterval(keepAlive);
}
