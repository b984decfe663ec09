import { describe, expect, it, onTestFinished } from "vitest";
import { openBrowser } from "../browser/open-browser.js";
import type { Listening } from "../support/listen.js";
import { type Providers, SEEDREAM, startGateway } from "../support/test-gateway.js";

const ADMIN = { cookie: "role=admin" };

/** The studio in an app of Next.js that was built, and runs. The app is in the fixtures. */
export function describeStudioOnNext(server: () => Listening, providers: () => Providers): void {
  /** Sends a request to the app, whose routes get a new gateway. */
  const open = () => {
    const test = startGateway(providers());
    Reflect.set(globalThis, Symbol.for("calotype.test.gateway"), test.gateway);
    const { url } = server();
    return { ...test, url, send: (path: string, init?: RequestInit) => fetch(url + path, init) };
  };

  describe("the studio", () => {
    it.each(["/studio", "/studio/", "/studio/try", "/studio/usage?period=24h"])(
      "serves the page at %s, and its files",
      async (path) => {
        const { send } = open();

        const page = await send(path, { headers: ADMIN });
        const html = await page.text();
        const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file = ""]) => file);

        expect(page.status).toBe(200);
        expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
        expect(files.length).toBeGreaterThan(1);
        for (const file of files) {
          expect(file).toMatch(/^\/studio\/assets\//);
          const response = await send(file, { headers: ADMIN });
          expect(response.status).toBe(200);
          // Bytes that were compressed twice are no UTF-8.
          expect(await response.text()).toMatch(/^[^\uFFFD]{100,}$/);
        }
      },
    );

    it.each([
      ["admin", { cookie: "role=admin" }, 201],
      ["viewer", { cookie: "role=viewer" }, 403],
      ["nobody", {}, 403],
    ] as const)("lets authorize decide who changes something: %s", async (_who, headers, status) => {
      const { send, gateway } = open();

      const response = await send("/studio/api/callers", {
        method: "POST",
        headers: {
          ...headers,
          "x-calotype-studio": "1",
          "sec-fetch-site": "same-origin",
          "content-type": "application/json",
        },
        body: JSON.stringify({ id: "new" }),
      });

      expect(response.status).toBe(status);
      expect((await gateway.callers.find("new")) !== undefined).toBe(status === 201);
    });

    it("refuses every request without authorize, because there is no address, and says so", async () => {
      const { send } = open();

      const page = await send("/local/studio");
      const api = await send("/local/studio/api/session");

      expect(page.status).toBe(403);
      expect(await page.text()).toMatch(
        /this host does not say where a request comes from[^]*当前运行环境无法提供请求的来源地址/,
      );
      expect(await api.json()).toMatchObject({ error: { code: "studio_refused" } });
    });

    it("makes images in a browser, which appear as they arrive", async () => {
      const { url, records } = open();
      const opened = await openBrowser();
      if (opened === undefined) return;
      onTestFinished(opened.close);
      const context = await opened.browser.newContext({ locale: "en-US" });
      await context.addCookies([{ name: "role", value: "admin", url }]);
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on("pageerror", ({ message }) => complaints.push(message));

      await page.goto(`${url}/studio/try`);
      await page.getByLabel("Model", { exact: true }).selectOption(SEEDREAM);
      await page.getByLabel("Images", { exact: true }).selectOption("3");
      await page.getByLabel("Prompt").fill("a fox");
      await page.getByRole("button", { name: "Make images" }).click();
      await page.getByText("Charge 0.09").waitFor();

      expect(await page.locator("figure img").count()).toBe(3);
      expect(records).toMatchObject([{ caller: "tester", images: 3 }]);
      expect(complaints).toEqual([]);
    });
  });
}
