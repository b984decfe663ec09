// Starts emulators of the providers and the Express app of this repository, and calls the app with the
// official OpenAI client. Nothing leaves this machine. With `--serve`, everything keeps running after the tour.
import { once } from "node:events";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { createEmulator } from "@calotype/emulator";
import { formatCurl } from "./format-curl.ts";
import { createOptions, KEYS, VISITOR } from "./options.ts";
import type { StepResult } from "./run-step.ts";
import { showBalances } from "./show-balances.ts";
import { showBounds } from "./show-bounds.ts";
import { showBudget } from "./show-budget.ts";
import { showClients } from "./show-clients.ts";
import { showFailover } from "./show-failover.ts";
import { findImage, showCharges, showImages } from "./show-images.ts";
import { showRepeat } from "./show-repeat.ts";
import { showStoredImages } from "./show-stored-images.ts";
import { showTasks } from "./show-tasks.ts";
import type { Stage } from "./stage.ts";
import { type App, startApp } from "./start-app.ts";

const folder = process.env.DEMO_OUTPUT || fileURLToPath(new URL("../../demo-output", import.meta.url));
const shown = relative(process.cwd(), folder) || ".";
const optionsFile = join(folder, "options.json");
const isServing = process.argv.includes("--serve");

const providers = createEmulator({ seed: 1841, millisecondsPerImage: 100 });
let near = await providers.listen();
const far = await createEmulator({ seed: 1842, millisecondsPerImage: 100 }).listen();
try {
  await prepareFolder();
  const stage: Stage = { app: await startGateway(), providers, folder, restartProviders, restartApp };
  try {
    const results = await takeTour(stage);
    if (isServing) await serveUntilStopped(stage.app, results);
  } finally {
    await stage.app.stop();
  }

  async function restartApp(): Promise<void> {
    stage.app = await startGateway(new URL(stage.app.baseUrl).port);
  }
} finally {
  await near.close();
  await far.close();
}

async function prepareFolder(): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await writeFile(optionsFile, `${JSON.stringify(createOptions(near, far), null, 2)}\n`);
}

function startGateway(port = process.env.PORT || "0"): Promise<App> {
  const environment = {
    PORT: port,
    CALOTYPE_CONFIG: optionsFile,
    CALOTYPE_LEDGER: join(folder, "ledger.db"),
    CALOTYPE_RESULTS: join(folder, "results"),
    CALOTYPE_STUDIO_CALLER: VISITOR,
    CALOTYPE_STUDIO_CURRENCY: "CNY",
  };
  return startApp(environment, join(folder, "app.log"));
}

async function restartProviders(): Promise<void> {
  const port = Number(new URL(near.url).port);
  await near.close();
  near = await createEmulator({ seed: 1843, millisecondsPerImage: 100 }).listen({ port });
}

async function takeTour(stage: Stage): Promise<readonly StepResult[]> {
  console.log(`The gateway listens at ${stage.app.baseUrl}, with the options of ${shown}/options.json.`);
  console.log("Its providers, Ark, DashScope, OpenAI and BFL, are emulated: the images are placeholders.");

  console.log("\n1. Images: the official OpenAI client and two providers\n");
  const results = await showImages(stage);

  console.log(
    "\n2. Charges: the group of web-shop pays 0.8 of each price, calculated in exact decimals,\n" +
      "   and rounded only where the price has decimal_places\n",
  );
  showCharges(results);

  console.log("\n3. Failover: dashscope responds with 503, so dashscope-intl makes the images\n");
  await showFailover(stage);

  console.log(
    "\n4. Limits: the caller trial has a budget of 0.50 and may send 3 requests per minute.\n" +
      "   Refused requests count too\n",
  );
  await showBounds(stage);

  console.log(
    "\n5. One budget for four providers: studio has a budget of 1.20 for Ark, DashScope, OpenAI and BFL together.\n" +
      "   BFL responds with a job, which the gateway polls. A request that may cost more than is left is refused\n" +
      "   before it is sent\n",
  );
  await showBudget(stage);

  console.log("\n6. Idempotency: a request is sent twice with one Idempotency-Key, and charged once\n");
  await showRepeat(stage);

  console.log("\n7. Clients: programs that were written for OpenAI work with the profile of their caller\n");
  await showClients(stage);

  console.log(
    `\n8. Stored images: the gateway stores each image of /v1 in ${shown}/results and returns its own signed link\n`,
  );
  await showStoredImages(stage);

  console.log(
    "\n9. Tasks: nightly may run one request at a time, and sends three with Prefer: respond-async. The app is killed\n" +
      "   while the first one runs, and started again. What was not sent goes on; what was sent is never sent twice\n",
  );
  await showTasks(stage);

  console.log(
    `\n10. Balances: GET /operator shows the charges of each caller, stored in ${shown}/ledger.db.\n   Only requests that reached a provider count\n`,
  );
  await showBalances(stage);

  console.log(
    `\nFiles in ${shown}: the images, options.json, ledger.db, results, and app.log with the failures of step 3.`,
  );
  if (!isServing)
    console.log("npm run demo -- --serve keeps the servers running and prints a curl command for each call.");
  return results;
}

async function serveUntilStopped(app: App, results: readonly StepResult[]): Promise<void> {
  for (const { step } of results) {
    const image = step.kind === "edit" ? findImage(results, step.image) : undefined;
    const target = { baseUrl: app.baseUrl, apiKey: KEYS.webShop };
    console.log(`\n# ${step.title}\n${formatCurl(step, target, image && relative(process.cwd(), image))}`);
  }
  console.log(`\nThis link opens the studio. The caller ${VISITOR} pays for images in its Try:`);
  app.showStudioLinks();
  console.log(`\nServing at ${app.baseUrl} with the API key ${KEYS.webShop}. Ctrl+C ends it.`);
  const keepAlive = setInterval(() => {}, 60_000);
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  clearInterval(keepAlive);
}
