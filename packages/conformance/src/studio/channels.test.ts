import type { Gateway, GatewayOptions } from "@calotype/core";
import type { Page } from "playwright-core";
import { afterAll, describe, expect, it } from "vitest";
import { openBrowser } from "../browser/open-browser.js";
import { CALLER_KEY, CHANNEL_KEY, type Providers, SEEDREAM } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { openStudioPage, type StudioPage, type StudioPageOptions } from "./open-page.js";
import { shoot } from "./shoot.js";

const opened = await openBrowser();
afterAll(() => opened?.close());

const MARKUP = '<img src=x onerror="document.title=1">';
/** The provider's names of the model on the channels `ark` and `ark-2`. */
const [UPSTREAM, UPSTREAM_2] = ["doubao-seedream-4-0-250828", "doubao-seedream-4-5-251128"];

/** Two channels for one model: `ark` comes first. The second one has two keys. */
function twoChannels({ server }: Providers): Partial<GatewayOptions> {
  const channel = { family: "seedream", baseUrl: server.arkBaseUrl };
  return {
    models: { [SEEDREAM]: { family: "seedream" } },
    channels: [
      { ...channel, id: "ark", apiKey: CHANNEL_KEY, priority: 1, modelMapping: { [SEEDREAM]: UPSTREAM } },
      {
        ...channel,
        id: "ark-2",
        apiKey: [CHANNEL_KEY, "channel-canary-second-41d2"],
        modelMapping: { [SEEDREAM]: UPSTREAM_2 },
      },
    ],
    billing: { model_details: { [SEEDREAM]: { pricing_mode: "per-request", model_price: "0.03" } } },
  };
}

/** Sends a request as a client, and returns its id and status. */
async function generate(gateway: Gateway): Promise<{ readonly id: string; readonly status: number }> {
  const response = await gateway.fetch(
    new Request("http://gateway.test/ai/v1/images/generations", {
      method: "POST",
      headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: SEEDREAM, prompt: "a secret fox", n: 1 }),
    }),
  );
  await response.text();
  return { id: response.headers.get("x-request-id") ?? "", status: response.status };
}

/** The row of a channel. */
const rowOf = (page: Page, id: string) =>
  page.getByRole("row").filter({ has: page.getByRole("link", { name: id, exact: true }) });

describe.runIf(opened !== undefined)("Channels in Chromium", () => {
  const providers = useProviders({ images: "tiny" });
  const open = async (options: StudioPageOptions = {}): Promise<StudioPage> => {
    if (opened === undefined) throw new Error("The browser is not open.");
    return openStudioPage(opened, providers(), {
      ...options,
      gateway: { ...twoChannels(providers()), ...options.gateway },
    });
  };

  it("shows in an outage which channel fails, since when and why, and in two clicks what a client got", async () => {
    const { page, gateway, complaints } = await open({ path: "/channels" });
    await page.getByText("no attempts").first().waitFor();
    const message = `The upstream is on fire: ${MARKUP}`;
    providers().emulator.faults.add({ model: UPSTREAM, status: 500, message, times: 3 });
    const failed = [];
    for (let times = 0; times < 3; times++) failed.push(await generate(gateway));
    expect(failed.map(({ status }) => status)).toEqual([502, 502, 502]);
    await generate(gateway);

    const row = rowOf(page, "ark");
    await row.getByText("The provider fails.").waitFor();
    await row.getByText("Cooling down").waitFor();
    await row.getByText("3 attempts, 3 failed").waitFor();
    await rowOf(page, "ark-2").getByText("1 attempt, none failed").waitFor();
    await row.getByRole("link", { name: "ark", exact: true }).click();
    const panel = page.getByRole("complementary", { name: "Details of ark" });
    await panel.getByText(message).first().waitFor();
    expect(new URL(page.url()).searchParams.get("channel")).toBe("ark");
    expect(await panel.textContent()).not.toContain("secret fox");
    await shoot(page, "channels-failing");
    await panel.getByRole("link", { name: "Open the request" }).first().click();

    const request = page.getByRole("complementary");
    await request.getByText("Attempt 1: channel ark, key 1").waitFor();
    expect(new URL(page.url()).searchParams.get("request")).toBe(failed.at(-1)?.id);
    await page.goBack();
    await panel.waitFor();
    await panel.getByText("As a table").click();
    await panel.getByRole("row", { name: / 3 3$/ }).waitFor();
    await panel.getByRole("link", { name: "Failed requests that ended on this channel" }).click();
    await expect.poll(() => page.locator("tbody a.mono").count()).toBe(3);
    expect(complaints).toEqual([]);
  });

  it("pauses a channel after it has said what that does; another one serves meanwhile; and resumes it", async () => {
    const { page, gateway, logLines, complaints } = await open({ path: "/channels" });

    await page.getByRole("button", { name: "Pause ark", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Other channels serve all of its models.").waitFor();
    expect(gateway.status().channels[0]).toMatchObject({ state: "ready" });
    await dialog.getByLabel("How long").selectOption("1 hour");
    await dialog.getByLabel("Note (optional)").fill(MARKUP);
    await shoot(page, "channels-pause");
    await dialog.getByRole("button", { name: "Pause" }).click();
    await rowOf(page, "ark").getByText("Paused by studio.").waitFor();
    await rowOf(page, "ark")
      .getByText(/ends in (1 hr|59 min)/)
      .waitFor();
    await rowOf(page, "ark").getByText(MARKUP).waitFor();
    expect((await generate(gateway)).status).toBe(200);
    expect(JSON.stringify(providers().emulator.requests.at(-1))).toContain(UPSTREAM_2);

    // Now the other one would leave the model without a channel.
    await page.getByRole("button", { name: "Pause ark-2" }).click();
    await dialog.getByText("No other channel serves these models.").waitFor();
    await dialog.getByText(SEEDREAM).waitFor();
    await shoot(page, "channels-pause-last");
    await dialog.getByRole("button", { name: "Pause" }).click();
    await rowOf(page, "ark-2").getByText("when it is resumed").waitFor();
    await page.getByRole("link", { name: "ark", exact: true }).click();
    await page.getByRole("complementary").getByText(MARKUP).waitFor();
    await shoot(page, "channels-paused");
    expect((await generate(gateway)).status).toBe(503);

    await page.getByRole("complementary").getByRole("button", { name: "Resume ark" }).click();
    await dialog.getByText("Requests go to this channel again.").waitFor();
    await dialog.getByRole("button", { name: "Resume" }).click();
    await rowOf(page, "ark").getByText("Ready").waitFor();
    expect((await generate(gateway)).status).toBe(200);
    expect(
      logLines.filter((line) => line.includes("was paused") || line.includes("was resumed")),
    ).toHaveLength(3);
    expect(complaints).toEqual([]);
  });

  it("says in Try that a model is paused, and that nothing was charged", async () => {
    const { page, gateway } = await open({ studio: { caller: "tester" } });
    await gateway.pauseChannel("ark");
    await gateway.pauseChannel("ark-2");

    await page.getByLabel("Prompt").fill("a fox");
    await page.getByRole("button", { name: "Make images" }).click();

    await page.getByText("An operator has paused the channels of this model.").waitFor();
    expect(await gateway.usage.balance("tester")).toEqual({ settled: "0", held: "0" });
  });

  it("says what a probe costs before it makes one, for the model that the person chooses, also while paused", async () => {
    const { page, gateway, complaints } = await open({ path: "/channels" });
    await gateway.pauseChannel("ark-2", { by: "kim" });
    await page.getByText("Paused by kim.").waitFor();

    await page.getByRole("button", { name: "Probe ark-2" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("This requests 2 small images, one with each key.").waitFor();
    await dialog.getByText("2 × at most 0.03").waitFor();
    expect(await dialog.getByLabel("Model").textContent()).toContain(SEEDREAM);
    expect(providers().emulator.requests).toHaveLength(0);
    await shoot(page, "channels-probe");
    providers().emulator.faults.add({ status: 401, times: 1 });
    await dialog.getByRole("button", { name: "Request 2 images" }).click();
    await dialog.getByText("The provider refuses the key.").waitFor();
    await dialog.getByText("Key 2: Works").waitFor();
    await dialog.getByText("2 images were requested. Your account with the provider shows").waitFor();
    await dialog.getByText("The channel stays paused.").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();

    await page.getByRole("row").filter({ hasText: "Key 1" }).getByText("Cooling down").waitFor();
    await page.getByRole("link", { name: "ark-2" }).click();
    await page.getByRole("complementary").getByText("An attempt of a probe").waitFor();
    expect(complaints).toEqual([]);
  });

  it("lets a viewer look, and changes nothing if the gateway refuses", async () => {
    const { page } = await open({ path: "/channels?channel=ark", studio: { authorize: () => "viewer" } });
    await page.getByRole("complementary", { name: "Details of ark" }).waitFor();
    expect(await page.locator("main").getByRole("button").allTextContents()).toEqual(["Close"]);
    await page.locator("main").getByText("No attempt has failed").waitFor();
  });

  it("keeps its place while the state is read again", async () => {
    const { page, gateway } = await open({ path: "/channels" });
    const row = rowOf(page, "ark");
    const before = await row.boundingBox();
    await generate(gateway);
    await row.getByText("1 attempt, none failed").waitFor();
    expect(await row.boundingBox()).toEqual(before);
  });
});
