import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";

const DEMO = fileURLToPath(new URL("demo.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "calotype-demo-"));

let run: SpawnSyncReturns<string>;
let shown: string;
beforeAll(() => {
  run = spawnSync(process.execPath, [DEMO], {
    env: { ...process.env, PORT: "", DEMO_OUTPUT: folder },
    encoding: "utf8",
  });
  shown = run.stdout;
});
afterAll(() => rmSync(folder, { recursive: true }));

it("ends with status 0 and an empty stderr", () => {
  expect(run).toMatchObject({ status: 0, stderr: "" });
});

it("saves the images, and the options, ledger, stored images and log of the app", () => {
  const files = readdirSync(folder);

  expect(files.filter((file) => /\.(?:jpg|png)$/.test(file))).toHaveLength(18);
  expect(files).toEqual(expect.arrayContaining(["app.log", "ledger.db", "options.json", "results"]));
  expect(shown).toContain("████ 4 of 4");
});

it("prints how each charge is calculated: by image, by token, and rounded once", () => {
  expect(shown).toMatch(/seedream-4-5-251128 +generate +ark +2048x2048 +0\.25 × 4 images × 0\.8 = 0\.8$/m);
  expect(shown).toMatch(/seedream-4-5-251128 +edit +ark +2048x2048 +0\.25 × 1 image × 0\.8 = 0\.2$/m);
  expect(shown).toMatch(
    /seedream-5-0-pro-260628 +generate +ark +1600x1200 +0\.3 × 3 images × 0\.8 = 0\.72$/m,
  );
  expect(shown).toMatch(/12\.2 × 6144 tokens ÷ 1,000,000 × 0\.8 = 0\.05996544$/m);
  expect(shown).toMatch(/0\.22 × 1 image × 0\.8 = 0\.176, rounded to 0\.18$/m);
  expect(shown).toMatch(/image-2\.0-pro +generate +dashscope +1328x1328 +0\.5 × 1 image × 0\.8 = 0\.4$/m);
});

it("uses another channel while one fails, and prints the cooldown", () => {
  expect(shown.match(/200, made by dashscope-intl; dashscope responded with 503$/gm)).toHaveLength(3);
  expect(shown).toMatch(/request 4: 200, made by dashscope-intl; dashscope was not tried$/m);
  expect(shown).toMatch(/dashscope +cooling +overload +in \d s$/m);
});

it("reaches the budget and the rate limit of a caller", () => {
  expect(shown.match(/request [12]: 200, charged 0\.25 × 1 image × 1 = 0\.25$/gm)).toHaveLength(2);
  expect(shown).toContain("request 3: 403 insufficient_quota: ");
  expect(shown).toContain("request 4: 429 rate_limit_exceeded: ");
  expect(shown).toMatch(
    /retry-after: \d+\n +ratelimit-policy: "requests";q=3;w=60\n +ratelimit: "requests";r=0;/,
  );
});

it("charges four providers to one budget, and refuses what may cost more than is left", () => {
  expect(shown).toMatch(/^ +ark +seedream-4-5-251128 +0\.25 × 1 image × 1 = 0\.25 +0\.25$/m);
  expect(shown).toMatch(/^ +dashscope\S* +image-2\.0-pro +0\.5 × 1 image × 1 = 0\.5 +0\.75$/m);
  expect(shown).toMatch(
    /^ +openai +gpt-image-2 +\(30 × 1767 \+ 5 × 8\) tokens ÷ 1,000,000 × 1 = 0\.05305 +0\.80305$/m,
  );
  expect(shown).toMatch(/^ +bfl +flux-2-pro +0\.05 × 1 image × 1 = 0\.05 +0\.85305$/m);
  expect(shown).toMatch(/^ +- +image-2\.0-pro +403 insufficient_quota +0\.85305$/m);
  expect(shown).toMatch(/^ +studio +4 +4 +0\.85305 +0$/m);
});

it("charges a repeated request once", () => {
  expect(shown).toContain("web-shop has spent 5.2959424, before it 5.0959424");
  expect(shown).toContain("200 with idempotent-replayed: true, the same image; spent 5.2959424");
});

it("shows what programs for OpenAI get without a profile and with one", () => {
  expect(shown).toMatch(/web-shop, no profile: 400 for the size 1024x1024$/m);
  expect(shown).toMatch(/client: "librechat": 200, base64, 1920x1920 in place of 1024x1024$/m);
  expect(shown).toMatch(
    /image_generation\.completed: 1920x1920, \d{5,} bytes in base64\n.*completed: 1920x1920, \d{5,} bytes in base64, 28800 tokens$/m,
  );
  expect(shown).toMatch(/GET \/v1\/models: (?:seedream-\S+, ){5}image-2\.0-pro, gpt-image-2, flux-2-pro$/m);
});

it("opens a stored link after the provider has lost the image of its own link", () => {
  const image = String.raw`200, image/jpeg, \d{5,} bytes`;
  expect(shown).toMatch(new RegExp(`Ark's link, from /api/v3 +${image} +404$`, "m"));
  expect(shown).toMatch(new RegExp(`stored link, from /v1 +(${image}) +\\1$`, "m"));
});

it("runs the tasks that were not sent when the app was killed, after its restart", () => {
  expect(shown).toMatch(/A lamp +in_progress +in_progress$/m);
  expect(shown).toMatch(/A kettle +queued +completed +1 image$/m);
  expect(shown).toMatch(/A chair +queued +completed +1 image$/m);
});

it("ends with the charges of each caller", () => {
  expect(shown).toMatch(/^ +nightly +2 +2 +0\.5 +0\.25$/m);
  expect(shown).toMatch(/^ +trial +2 +2 +0\.5 +0$/m);
  expect(shown).toMatch(/^ +chat +1 +1 +0\.25 +0$/m);
  expect(shown).toMatch(/^ +script +1 +2 +0\.5 +0$/m);
  expect(shown).toMatch(/^ +web-shop +17 +25 +5\.37589632 +0$/m);
});

it("prints no key, no space at the end of a line, and no address of a server that has ended", () => {
  // Only --serve prints the keys of the callers, for the user to type.
  expect(shown).not.toMatch(/demo-key|sk-/);
  expect(shown).not.toMatch(/ $/m);
  expect(shown).not.toMatch(/^curl /m);
});
