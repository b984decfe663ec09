import { createMemoryLedger, type UsageRecord, type UsageReports } from "@calotype/core/billing";
import type { Ledger } from "@calotype/core/stores";
import { afterAll, describe, expect, it } from "vitest";
import { openBrowser } from "../browser/open-browser.js";
import { QWEN_IMAGE, SEEDREAM } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { openStudioPage, type StudioPage, type StudioPageOptions } from "./open-page.js";
import { shoot } from "./shoot.js";

const opened = await openBrowser();
afterAll(() => opened?.close());

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

/** A ledger with the requests of yesterday at noon: of three callers, and one of a model without a price. */
async function fillYesterday(count: number): Promise<Ledger> {
  const ledger = createMemoryLedger({ maxRecords: 100_000 });
  const noon = new Date();
  noon.setDate(noon.getDate() - 1);
  noon.setHours(12, 0, 0, 0);
  for (let index = 0; index < count; index++) {
    await ledger.settle({
      state: "settled",
      id: `req-${index}`,
      time: new Date(noon.getTime() + index).toISOString(),
      caller: ["web-shop", "design-team", "app"][index % 3] ?? "",
      group: "default",
      model: index === 7 ? "retired-model" : SEEDREAM,
      operation: "generate",
      channel: "ark",
      upstreamModel: "doubao",
      attempts: [],
      status: 200,
      images: 1,
      usage: { generated_images: 1 },
      charge: "0.03",
      durationMs: 1,
    });
  }
  return ledger;
}

async function readRecords(usage: Pick<UsageReports, "records">): Promise<readonly UsageRecord[]> {
  const found: UsageRecord[] = [];
  for await (const record of usage.records()) found.push(record);
  return found;
}

describe.runIf(opened !== undefined)("Prices in Chromium", () => {
  const providers = useProviders({ images: "tiny" });
  const open = async (options?: StudioPageOptions): Promise<StudioPage> => {
    if (opened === undefined) throw new Error("The browser is not open.");
    return openStudioPage(opened, providers(), { path: "/prices", ...options });
  };

  it("shows the table in words, and derives a charge from the sizes and counts that the model has", async () => {
    const { page, complaints } = await open({ gateway: { billing: TIERED } });

    await page.getByText("0.02 per image up to 4,194,304 pixels").waitFor();
    await page.getByText("0.05 per image above that").waitFor();
    await page.getByLabel("Model", { exact: true }).selectOption(SEEDREAM);
    await page.getByLabel("Images", { exact: true }).fill("7");
    await page.getByLabel("Size in pixels").selectOption({ label: "4096 × 4096 · 1:1" });
    await page.getByLabel("Reference images", { exact: true }).fill("2");
    await page.getByLabel("Group", { exact: true }).selectOption("vip");
    await page.getByRole("button", { name: "Calculate" }).click();
    await page.getByText("Costs 0.2848").waitFor();
    await page.getByRole("cell", { name: "Images · 16,777,216 pixels" }).waitFor();
    await page.getByRole("cell", { name: "0.28", exact: true }).waitFor();
    await page.getByRole("cell", { name: "0.0048", exact: true }).waitFor();
    await shoot(page, "prices-calculator");
    await page.getByLabel("Images", { exact: true }).fill("8");
    await page.getByText("Costs 0.2848").waitFor({ state: "detached" });
    await page.getByLabel("Images", { exact: true }).fill("many");
    await page.getByRole("button", { name: "Calculate" }).click();
    await page.locator(".problem", { hasText: "images" }).waitFor();
    await expect.poll(() => page.url()).toContain("model=");
    expect(complaints).toEqual([]);
  });

  it("derives a charge by token", async () => {
    const billing = {
      model_details: {
        [QWEN_IMAGE]: { pricing_mode: "per-request", model_price: "0.04" },
        [SEEDREAM]: { pricing_mode: "per-token", output_token_price: "10", input_text_token_price: "2" },
      },
    } as const;
    const { page } = await open({ gateway: { billing } });

    await page.getByLabel("Model", { exact: true }).selectOption(SEEDREAM);
    await page.getByText("10 per million output tokens").waitFor();
    await page.getByRole("button", { name: "Calculate" }).click();
    await page.getByText("Enter how many tokens there are.").waitFor();
    expect(await page.getByText("Costs 0").count()).toBe(0);
    await page.getByLabel("Output tokens", { exact: true }).fill("100000");
    await page.getByLabel("Tokens of the prompt").fill("1000");
    await page.getByRole("button", { name: "Calculate" }).click();
    await page.getByText("Costs 1.002").waitFor();
    await expect.poll(() => page.locator(".derivation tbody tr").count()).toBe(2);
  });

  it("shows lines that add up: with the ratio of the group, and to the rounded charge", async () => {
    const { page } = await open({
      gateway: {
        billing: {
          model_details: {
            ...TIERED.model_details,
            [SEEDREAM]: { ...TIERED.model_details[SEEDREAM], decimal_places: 3 },
          },
          group_ratio: TIERED.group_ratio,
        },
      },
    });

    await page.getByLabel("Group", { exact: true }).selectOption("vip");
    await page.getByLabel("Images", { exact: true }).fill("3");
    await page.getByLabel("Reference images", { exact: true }).fill("1");
    await page.getByRole("button", { name: "Calculate" }).click();

    await page.getByText("Costs 0.122").waitFor();
    const rows = await page.locator(".derivation tr").allInnerTexts();
    expect(rows.map((row) => row.split("\t").join(" | "))).toEqual([
      "Line | Count | Price | Group ratio | Amount",
      "Images | 3 | 0.05 | 0.8 | 0.12",
      "Reference images | 1 | 0.003 | 0.8 | 0.0024",
      "Rounding to 3 decimal places |  |  |  | -0.0004",
      "Sum | 0.122",
    ]);
  });

  it("computes what yesterday would have cost, says what could not be computed, and changes nothing", async () => {
    const { page, gateway, complaints } = await open({ gateway: { ledger: await fillYesterday(60) } });
    const before = JSON.stringify(await readRecords(gateway.usage));

    const prices = page.getByLabel("Other prices, as JSON");
    await prices.waitFor();
    const inEffect = await prices.inputValue();
    expect(JSON.parse(inEffect)).toEqual(await gateway.prices());
    await prices.fill("{");
    await page.getByRole("button", { name: "Compute" }).click();
    await page.getByText("This is not JSON.").waitFor();
    await prices.fill(
      `{"model_details": {"${SEEDREAM}": {"pricing_mode": "per-request", "model_price": "-1"}}}`,
    );
    await page.getByRole("button", { name: "Compute" }).click();
    await page.getByText(`model_details.${SEEDREAM}.model_price`).waitFor();
    await prices.fill(
      `{"model_details": {"${SEEDREAM}": {"pricing_mode": "per-request", "model_price": "0.05"}}}`,
    );
    await page.getByRole("button", { name: "Compute" }).click();

    await page.locator(".figure", { hasText: "2.98" }).waitFor();
    await page.locator(".figure", { hasText: "+1.18" }).waitFor();
    await page.getByText("No stored charge was changed.").waitFor();
    await page.getByText("1 is of a model that these prices do not name").waitFor();
    await page.getByRole("row", { name: /design-team 20 0.6 / }).waitFor();
    await page.locator(".figures").last().scrollIntoViewIfNeeded();
    await shoot(page, "prices-reprice");
    const isOld = page.getByText("The prices or the period have changed since.");
    expect(await isOld.count()).toBe(0);
    await page.getByRole("button", { name: "Last 7 days" }).click();
    await isOld.waitFor();
    await page.getByRole("button", { name: "Yesterday" }).click();
    await isOld.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Other period" }).click();
    await page.getByRole("button", { name: "Compute" }).click();
    await page.getByText("Choose a beginning, and an end that is later.").waitFor();
    await page.getByLabel("From").fill("2020-01-01T00:00");
    await page.getByLabel("To", { exact: true }).fill("2020-01-02T00:00");
    await page.getByRole("button", { name: "Compute" }).click();
    await page.getByText("There were no requests in this period.").waitFor();
    await page.reload();
    expect(await page.getByLabel("From").inputValue()).toBe("2020-01-01T00:00");
    expect(await prices.inputValue()).toBe(inEffect);
    expect(JSON.stringify(await readRecords(gateway.usage))).toBe(before);
    expect(complaints).toEqual([]);
  });

  it("shows how far it is, and stops", async () => {
    const ledger = await fillYesterday(20_000);
    const { page } = await open({
      gateway: {
        ledger: {
          ...ledger,
          async *records(filter) {
            let count = 0;
            for await (const record of ledger.records(filter)) {
              count += 1;
              // A slow ledger.
              if (count % 500 === 0) await new Promise((resolve) => setTimeout(resolve, 200));
              yield record;
            }
          },
        },
      },
    });
    await page.getByRole("button", { name: "Compute" }).click();
    await page.getByText(/[1-9],[05]00 records, up to/).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("button", { name: "Back to the prices in effect" }).waitFor();
    expect(await page.locator(".figures").count()).toBe(0);
  });

  it("says that there are no prices, and how to set them", async () => {
    const { page } = await open({ gateway: { billing: undefined } });
    await page.getByText("This gateway has no prices.").waitFor();
    expect(await page.locator("pre.code").textContent()).toContain("model_details");
    await shoot(page, "prices-none");
  });
});
