import type { GatewayOptions } from "@calotype/core";
import type { ResultStore } from "@calotype/core/stores";
import type { Page } from "playwright-core";
import { afterAll, describe, expect, it } from "vitest";
import { openBrowser } from "../browser/open-browser.js";
import { drawPng } from "../clients/support/images.js";
import { expectCounts } from "../suites/results.js";
import { CALLER_KEY, type Providers, QWEN_IMAGE, SEEDREAM } from "../support/test-gateway.js";
import { isFull } from "../support/test-run.js";
import { useProviders } from "../support/use-providers.js";
import { fillLedger, SHOWN_ID } from "./fill-ledger.js";
import { findAxeProblems, measureOverflow } from "./find-problems.js";
import { openStudioPage, type StudioPage } from "./open-page.js";
import { SHOTS, shoot } from "./shoot.js";

const opened = await openBrowser();
afterAll(() => opened?.close());

/** A screen: its address, and what a person does there until it is shown. */
interface Screen {
  readonly path: string;
  /** Default: a caller of the options pays in Try. */
  readonly hasNoPayer?: boolean;
  readonly gateway?: Partial<GatewayOptions>;
  /** Default: a ledger with the requests of two weeks. */
  readonly isEmpty?: boolean;
  /** True for a state that has no control of its own, or a dialog like another one: only in the full run. */
  readonly isRare?: boolean;
  /** What happens before the page is loaded. */
  readonly prepare?: (test: StudioPage, providers: Providers) => Promise<unknown>;
  readonly show: (page: Page) => Promise<unknown>;
}

const GATEWAY: Partial<GatewayOptions> = {
  callers: [
    { id: "tester", key: CALLER_KEY, budget: "100" },
    // Close to its budget, and without anything left.
    { id: "web-shop", key: "access-key-1", budget: "3.9" },
    { id: "design-team", key: "access-key-2", budget: "2.34" },
  ],
  limits: { requestsPerMinute: 5, imagesPerMinute: 9, concurrent: 2 },
};

/** One task runs at a time, and nothing listens at the endpoint. */
const WITH_TASKS: Partial<GatewayOptions> = {
  tasks: { concurrency: 1 },
  webhooks: {
    allowHosts: ["localhost"],
    endpoints: {
      tester: {
        orders: { url: "http://localhost:9/", secrets: [`whsec_${Buffer.alloc(32, 7).toString("base64")}`] },
      },
    },
  },
};

const TIERED = {
  model_details: {
    [SEEDREAM]: {
      pricing_mode: "per-request",
      image_prices: [{ up_to_pixels: 4_194_304, price: "0.02" }, { price: "0.05" }],
      reference_image_price: "0.003",
    },
    "image-*": { pricing_mode: "per-request", model_price: "0.04" },
  },
  group_ratio: { default: "1", vip: "0.8" },
} as const;

const BY_TOKEN = {
  model_details: {
    [QWEN_IMAGE]: { pricing_mode: "per-request", model_price: "0.04" },
    [SEEDREAM]: { pricing_mode: "per-token", output_token_price: "10", input_text_token_price: "2" },
  },
} as const;

const SCREENS: Readonly<Record<string, Screen>> = {
  usage: { path: "/usage", show: waitFor(".chart") },
  "usage-empty": { isRare: true, path: "/usage", isEmpty: true, show: waitFor(".empty") },
  "usage-time": { path: "/usage?chart=time&by=endUser", isRare: true, show: waitFor(".chart") },
  "usage-filters": {
    path: "/usage?period=30d&caller=web-shop&outcomes=failed&by=tag&tagKey=team",
    show: waitFor(".chart"),
  },
  "usage-no-match": { path: "/usage?caller=nobody", isRare: true, show: waitFor(".chips") },
  "usage-dates": {
    isRare: true,
    path: "/usage",
    async show(page) {
      await page.locator(".view-head .segments button").last().click();
      await page.locator(".dates").waitFor();
    },
  },
  "usage-request": { path: `/usage?request=${SHOWN_ID}`, show: waitFor("aside .timeline") },
  "usage-record": {
    path: `/usage?request=${SHOWN_ID}`,
    isRare: true,
    show: press("aside summary", "aside pre"),
  },
  "usage-no-record": { path: "/usage?request=none", isRare: true, show: waitFor("aside [role=status]") },
  "usage-loading": { path: "/prices", isRare: true, show: openStuck("/usage", "api/usage?*") },
  "usage-failing": { isRare: true, path: "/prices", show: openFailing("/usage", "api/usage?*") },

  "usage-images": {
    path: "/usage",
    isEmpty: true,
    gateway: { results: { store: createForgetfulStore() } },
    prepare: ({ gateway }) => send(gateway, CALLER_KEY, { n: 3 }),
    show: press("table.requests td a", "aside .thumbnails img"),
  },

  "usage-refused": { path: "/usage?list=refused", prepare: refuseSome, show: waitFor(".status.warn") },

  tasks: { path: "/tasks", isEmpty: true, gateway: WITH_TASKS, prepare: runTasks, show: waitFor("tbody") },
  "tasks-empty": { isRare: true, path: "/tasks", isEmpty: true, show: waitFor(".empty") },

  channels: { path: "/channels", prepare: failChannels, show: waitFor(".status.bad") },
  channel: { path: "/channels?channel=ark", prepare: failChannels, show: waitFor("aside .channel-errors") },
  "channel-pause": {
    isRare: true,
    path: "/channels",
    show: press(".channel-actions button", "[role=dialog] select"),
  },
  "channel-resume": {
    isRare: true,
    path: "/channels",
    prepare: ({ gateway }) => gateway.pauseChannel("ark"),
    show: press(".channel-actions button", "[role=dialog]"),
  },
  "channel-probe": {
    isRare: true,
    path: "/channels",
    show: press(".channel-actions button:last-child", "[role=dialog] select"),
  },
  "channel-probed": {
    path: "/channels",
    async show(page) {
      await press(".channel-actions button:last-child", "[role=dialog] select")(page);
      await press("[role=dialog] .primary", "[role=dialog] .status")(page);
    },
  },
  "channels-loading": { path: "/prices", isRare: true, show: openStuck("/channels", "api/status") },
  "channels-failing": { path: "/prices", isRare: true, show: openFailing("/channels", "api/status") },

  callers: { path: "/callers", show: waitFor("tbody") },
  "callers-alerts": {
    path: "/callers",
    isEmpty: true,
    gateway: { callers: [{ id: "tester", key: CALLER_KEY, budget: { amount: "0.05", period: "month" } }] },
    prepare: ({ gateway }) => send(gateway, CALLER_KEY, {}),
    show: press(".alerts summary", ".alerts li"),
  },
  "callers-many": {
    isRare: true,
    path: "/callers?page=2&caller=customer-7",
    prepare: createManyCallers,
    show: waitFor("aside .limit-list"),
  },
  "callers-empty": { path: "/callers", gateway: { callers: [] }, isEmpty: true, show: waitFor(".empty") },
  "callers-failing": { path: "/prices", isRare: true, show: openFailing("/callers", "api/callers?*") },
  caller: { path: "/callers?caller=customer-1", prepare: createCaller, show: waitFor("aside .history li") },
  "caller-create": { path: "/callers", show: press(".view-head button", "[role=dialog] input") },
  "caller-change": {
    isRare: true,
    path: "/callers?caller=customer-1",
    prepare: createCaller,
    show: press("aside .actions button", "[role=dialog] input"),
  },
  "caller-rotate": {
    isRare: true,
    path: "/callers?caller=customer-1",
    prepare: createCaller,
    show: press("aside .actions button:nth-child(2)", "[role=dialog] select"),
  },
  "caller-key": {
    path: "/callers?caller=customer-1",
    prepare: createCaller,
    async show(page) {
      await press("aside .actions button:nth-child(2)", "[role=dialog] select")(page);
      await press("[role=dialog] .primary", "code.key")(page);
    },
  },
  "caller-revoke": {
    isRare: true,
    path: "/callers?caller=customer-1",
    prepare: createCaller,
    show: press("aside .actions button:nth-child(3)", "[role=dialog]"),
  },

  prices: { path: "/prices", gateway: { billing: TIERED }, show: press(".columns .primary", ".price") },
  "prices-tokens": {
    path: `/prices?model=${SEEDREAM}`,
    isRare: true,
    gateway: { billing: BY_TOKEN },
    async show(page) {
      await page.locator(".columns form .row").last().locator("input").first().fill("9");
      await press(".columns .primary", ".derivation table")(page);
    },
  },
  "prices-none": {
    isRare: true,
    path: "/prices",
    gateway: { billing: undefined, callers: [] },
    isEmpty: true,
    show: waitFor(".empty"),
  },
  "prices-of-yesterday": {
    path: "/prices",
    gateway: { billing: TIERED },
    show: press(".reprice .primary", ".reprice .figures"),
  },

  try: { path: "/try", show: waitFor("textarea") },
  "try-disabled": { isRare: true, path: "/try", hasNoPayer: true, show: waitFor("input[type=password]") },
  "try-made": { path: "/try", show: makeImage },
  "try-failed": {
    path: "/try",
    async show(page) {
      await page.route("**/api/images/**", (route) => route.abort());
      await page.locator("textarea.prompt").fill("a fox");
      await press(".price-line button", "[role=alert]")(page);
    },
  },

  palette: {
    path: "/callers",
    async show(page) {
      await page.locator("tbody").waitFor();
      await page.keyboard.press("Control+k");
      await page.getByRole("option", { name: SEEDREAM }).first().waitFor();
    },
  },
  "no-page": { path: "/nothing", isRare: true, show: waitFor("h1") },
};

function waitFor(selector: string): Screen["show"] {
  return (page) => page.locator(selector).first().waitFor();
}

/** Presses a button, and waits for what it shows. */
function press(button: string, shown: string): Screen["show"] {
  return async (page) => {
    await page.locator(button).first().click();
    await page.locator(shown).first().waitFor();
  };
}

/** Goes to a view whose data do not come. */
function openStuck(view: string, address: string): Screen["show"] {
  return async (page) => {
    await page.route(`**/${address}`, () => {});
    await press(`nav a[href$="${view}"]`, "main p[role=status]")(page);
  };
}

/** Goes to a view whose data cannot be read. */
function openFailing(view: string, address: string): Screen["show"] {
  return async (page) => {
    await page.route(`**/${address}`, (route) => route.abort());
    await press(`nav a[href$="${view}"]`, "[role=alert]")(page);
  };
}

/** Requests that no provider gets: one without a key, one with a wrong field, and one that costs more than is left. */
async function refuseSome({ gateway }: StudioPage): Promise<void> {
  await send(gateway, "wrong", {});
  await send(gateway, CALLER_KEY, { n: "x" });
  await send(gateway, "access-key-2", {});
}

/** A task that has ended, one that failed, and those that wait behind one that runs; and messages about them. */
async function runTasks({ gateway }: StudioPage, { emulator }: Providers): Promise<void> {
  const later = { prefer: "respond-async" };
  emulator.faults.add({ status: 400, times: 1 });
  for (let index = 0; index < 3; index++) await send(gateway, CALLER_KEY, {}, later);
  await waitUntil(async () => (await gateway.tasks.list({ state: "ended" })).tasks.length === 3);
  emulator.faults.add({ latencyMs: 2_000, times: 1 });
  for (let index = 0; index < 2; index++) await send(gateway, CALLER_KEY, {}, later);
  await waitUntil(async () => (await gateway.webhooks.list({ state: "delivered" })).length === 0);
}

async function send(
  gateway: StudioPage["gateway"],
  key: string,
  fields: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const response = await gateway.fetch(
    new Request("http://localhost/ai/v1/images/generations", {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
      body: JSON.stringify({ model: SEEDREAM, prompt: "a fox", ...fields }),
    }),
  );
  await response.text();
}

async function waitUntil(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** A channel that fails, and one that is paused. */
async function failChannels({ gateway }: StudioPage, { emulator }: Providers): Promise<void> {
  emulator.faults.add({ status: 401, message: "The key is wrong.", times: 1 });
  await gateway.probeChannel("ark");
  await gateway.pauseChannel("dashscope", {
    by: "kim",
    note: "The account is being checked.",
    seconds: 3_600,
  });
}

/** A caller that has reached a part of its budget, with two keys of which one is used. */
async function createCaller({ gateway }: StudioPage): Promise<void> {
  const budget = { amount: "0.12", period: "day" } as const;
  const { key } = await gateway.callers.create({ id: "customer-1", budget });
  await send(gateway, key, { n: 2 });
  await gateway.callers.rotate("customer-1");
}

/** A store that has lost the second of its images. */
function createForgetfulStore(): ResultStore {
  const images = new Map<string, { readonly contentType: string; readonly bytes: Uint8Array<ArrayBuffer> }>();
  return {
    link: ({ id }) => `https://images.example.com/${id}`,
    async put({ id, contentType, body }) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) chunks.push(chunk.slice());
      images.set(id, { contentType, bytes: new Uint8Array(Buffer.concat(chunks)) });
    },
    async open(id, { first, last } = { first: 0, last: Infinity }) {
      const image = images.get(id);
      if (image === undefined || [...images.keys()].indexOf(id) === 1) return undefined;
      const { contentType, bytes } = image;
      const body = ReadableStream.from([bytes.slice(first, last + 1)]);
      return { contentType, byteLength: bytes.length, body };
    },
  };
}

/** Callers of three pages. Some have used a part of their budgets and limits, some all of them. */
async function createManyCallers({ gateway }: StudioPage): Promise<void> {
  for (let index = 0; index < 120; index++) {
    const { key } = await gateway.callers.create({
      id: `customer-${index}${index === 9 ? "-with-a-rather-long-name-that-goes-on-and-on-2026" : ""}`,
      ...(index % 3 !== 0 && { budget: { amount: "0.12", period: "day" } }),
    });
    const requests = index < 10 ? 1 + (index % 5) : 0;
    for (let times = 0; times < requests; times++) {
      await gateway.fetch(
        new Request("http://localhost/ai/v1/images/generations", {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({ model: SEEDREAM, prompt: "a fox" }),
        }),
      );
    }
  }
}

/** An image with its charge, beside all fields, two references, the code and the history. */
async function makeImage(page: Page): Promise<void> {
  await page.locator(".composer select").first().selectOption(SEEDREAM);
  await page.locator("textarea.prompt").fill("a fox");
  await press(".price-line button", ".run .price")(page);
  for (const summary of await page.locator("summary").all()) await summary.click();
  await page.setInputFiles("input[type=file]", [
    { name: "1.png", mimeType: "image/png", buffer: await drawPng(1) },
    { name: "2.png", mimeType: "image/png", buffer: await drawPng(2) },
  ]);
  await page.locator(".references img").nth(1).waitFor();
}

const LANGUAGES = ["en", "zh"] as const;
const THEMES = ["light", "dark"] as const;
const WIDTHS = [1280, 768, 360] as const;
const ALL_LOOKS = LANGUAGES.flatMap((language) =>
  THEMES.flatMap((theme) => WIDTHS.map((width) => ({ language, theme, width }))),
);
const IS_FULL = isFull() || SHOTS !== undefined;
/** Otherwise each screen has one look: wide in English and light, or narrow in Chinese and dark, in turns. */
const looksOf = (index: number): typeof ALL_LOOKS =>
  IS_FULL
    ? ALL_LOOKS
    : ALL_LOOKS.filter(({ language, theme, width }) =>
        index % 2 === 0
          ? language === "en" && theme === "light" && width === 1280
          : language === "zh" && theme === "dark" && width === 360,
      );

it("the screens are as many as docs/suites.md says", async () => {
  const screens = Object.keys(SCREENS);
  expect(screens.length).toBeGreaterThan(0);
  await expectCounts("axe", { screens: screens.length, "looks of each": ALL_LOOKS.length });
});

describe.runIf(opened !== undefined)("each screen of the studio in Chromium", { timeout: 120_000 }, () => {
  const providers = useProviders({ images: "tiny", millisecondsPerImage: 20 });

  const screens = Object.entries(SCREENS)
    .filter(([, { isRare }]) => IS_FULL || isRare !== true)
    .map(([name, screen], index) => [name, screen, looksOf(index)] as const);

  it.each(screens)("%s has no problem of access, and fits", async (name, screen, looks) => {
    if (opened === undefined) throw new Error("The browser is not open.");
    const test = await openStudioPage(opened, providers(), {
      path: screen.path,
      studio: screen.hasNoPayer === true ? {} : { caller: "tester" },
      context: { viewport: { width: 1280, height: 740 } },
      gateway: {
        ...GATEWAY,
        ...(screen.isEmpty !== true && { ledger: await fillLedger(Date.now()) }),
        ...screen.gateway,
      },
    });
    const { page, complaints } = test;
    if (screen.prepare !== undefined) {
      await screen.prepare(test, providers());
      await page.reload();
    }
    await screen.show(page);

    const problems: string[] = [];
    for (const look of looks) {
      await changeLook(page, look);
      const overflow = await measureOverflow(page);
      const found = [
        ...(await findAxeProblems(page)),
        ...(overflow > 0 ? [`${overflow} pixels too wide`] : []),
      ];
      problems.push(...found.map((each) => `${Object.values(look).join(" ")}: ${each}`));
      await shoot(page, [name, ...Object.values(look)].join("-"));
    }
    expect(problems).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it("shows what is current and chosen if the system forces its colors", async () => {
    if (opened === undefined) throw new Error("The browser is not open.");
    const { page } = await openStudioPage(opened, providers(), {
      path: "/usage",
      context: { forcedColors: "active" },
      gateway: { ledger: await fillLedger(Date.now()) },
    });
    await page.locator(".chart").waitFor();
    await shoot(page, "forced-colors");
    const chosen = ["nav a[aria-current]", ".segments button[aria-pressed=true]"];
    await page.keyboard.press("Control+k");
    await page.locator("[data-highlighted]").waitFor();
    await shoot(page, "forced-colors-palette");

    for (const selector of [...chosen, "[role=option][data-highlighted]"]) {
      const outline = `getComputedStyle(document.querySelector(${JSON.stringify(selector)})).outlineStyle`;
      expect(await page.evaluate(outline)).toBe("solid");
    }
  });
});

/** Changes the language with the control of the page, also below a dialog. */
async function changeLook(page: Page, { language, theme, width }: (typeof ALL_LOOKS)[number]): Promise<void> {
  await page.emulateMedia({ colorScheme: theme });
  await page.setViewportSize({ width, height: 740 });
  await page.evaluate(`(() => {
    const select = document.querySelector(".settings select");
    select.value = ${JSON.stringify(language)};
    select.dispatchEvent(new Event("change", { bubbles: true }));
  })()`);
  await page.locator(`html[lang=${language === "zh" ? "zh-Hans" : "en"}]`).waitFor({ state: "attached" });
}
