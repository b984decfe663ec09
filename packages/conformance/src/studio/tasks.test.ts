import { afterAll, describe, expect, it } from "vitest";
import { openBrowser } from "../browser/open-browser.js";
import { CALLER_KEY, SEEDREAM } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { openStudioPage, type StudioPage } from "./open-page.js";

const opened = await openBrowser();
afterAll(() => opened?.close());

const send = ({ gateway }: StudioPage, key: string, fields: object = {}, prefer = ""): Promise<Response> =>
  gateway.fetch(
    new Request("http://localhost/ai/v1/images/generations", {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", prefer },
      body: JSON.stringify({ model: SEEDREAM, prompt: "a fox", ...fields }),
    }),
  );

describe.runIf(opened !== undefined)(
  "what the studio shows of requests without a provider, in Chromium",
  () => {
    const providers = useProviders({ images: "tiny" });

    it("cancels a task that waits, and opens the request of one that has ended", async () => {
      if (opened === undefined) throw new Error("The browser is not open.");
      const test = await openStudioPage(opened, providers(), {
        path: "/tasks",
        gateway: { tasks: { concurrency: 0 } },
      });
      const { page, gateway, complaints } = test;
      await send(test, CALLER_KEY, {}, "respond-async");
      await gateway.runTasks();
      await send(test, CALLER_KEY, {}, "respond-async");
      await page.reload();

      await page.getByRole("button", { name: /^Queue 1$/ }).waitFor();
      await page.getByRole("button", { name: /^Cancel task_/ }).click();
      await page.getByText("Cancelled", { exact: true }).waitFor();
      expect(await gateway.tasks.list({ state: "queued" })).toMatchObject({ queued: 0 });
      await page
        .getByRole("row", { name: /Completed/ })
        .getByRole("link")
        .click();
      await page.getByRole("complementary").getByText("The task arrived").waitFor();
      expect(new URL(page.url()).pathname).toMatch(/\/tasks$/);
      expect(complaints).toEqual([]);
    });

    it("counts requests that were refused, and shows why each of them was", async () => {
      if (opened === undefined) throw new Error("The browser is not open.");
      const test = await openStudioPage(opened, providers(), {
        path: "/tasks",
        gateway: {
          callers: [{ id: "tester", key: CALLER_KEY, budget: "0.04", limits: { requestsPerMinute: 2 } }],
        },
      });
      const { page } = test;
      const statuses = [];
      for (const fields of [{}, {}, { n: "x" }, {}])
        statuses.push((await send(test, CALLER_KEY, fields)).status);
      expect(statuses).toEqual([200, 403, 400, 429]);

      await page.getByRole("link", { name: "Usage" }).click();
      await page.locator(".figures > div", { hasText: "Not successful" }).getByText("75%").waitFor();
      await page.getByRole("link", { name: "3 refused before a provider" }).click();
      await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("requests");
      expect(await page.locator("#requests").isVisible()).toBe(true);
      await page.getByText("403 insufficient_quota").first().waitFor();
      await page.getByText("400 invalid_request_error").first().waitFor();
      await page
        .getByRole("row", { name: /429 rate_limit_exceeded/ })
        .getByRole("link")
        .click();
      const panel = page.getByRole("complementary");
      await panel.getByText("No provider got this request.").waitFor();
      await page
        .getByRole("row", { name: /403 insufficient_quota/ })
        .getByRole("link")
        .click();
      await expect.poll(() => panel.getByText("Left of the budget").count()).toBe(1);
      await panel.getByText("0.01", { exact: true }).waitFor();
      await panel.getByRole("link", { name: "tester" }).click();
      await page.getByRole("complementary", { name: "Details of tester" }).waitFor();
      await page.keyboard.press("Control+k");
      await page.getByRole("option", { name: "Failed requests of the last 24 hours" }).click();
      await page.getByText("No request matches these filters.").waitFor();
      await page.locator("#requests").getByRole("link", { name: "3 refused before a provider" }).waitFor();
    });
  },
);
