import { describe, expect, it } from "vitest";
import { createTestGateway } from "../../testing/test-gateway.js";
import { createReference, type ReferenceOptions } from "./reference-page.js";

const SCRIPT = "window.shown = true;";

function open({ page = "swagger-ui", read = async () => SCRIPT }: Partial<ReferenceOptions> = {}) {
  const { gateway, ...test } = createTestGateway(undefined, {
    openapi: true,
    reference: createReference({ page, read }),
  });
  const get = (path: string, init?: RequestInit) =>
    gateway.fetch(new Request(`http://gateway.test${path}`, init));
  return { gateway, ...test, get };
}

it("an unknown page is an error that names the known ones", () => {
  expect(() => open({ page: "swagger" as never })).toThrow(
    "page of createReference must be swagger-ui or scalar.",
  );
});

describe("GET /reference", () => {
  it("lets the browser load from this server only", async () => {
    const response = await open().get("/reference");
    expect(Object.fromEntries(response.headers)).toEqual({
      "cache-control": "no-cache",
      "content-security-policy":
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
        "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      "content-type": "text/html; charset=utf-8",
      etag: expect.stringMatching(/^"[\da-f]{32}"$/),
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "x-request-id": expect.stringMatching(/^req_/),
    });
    // A script in the page would not run under this policy.
    expect(await response.text()).not.toMatch(/<script>|<style| on\w+=/);
  });

  it("sends a file only once to a browser that keeps it", async () => {
    const { get } = open();
    const first = await get("/reference/page.js");
    const again = await get("/reference/page.js", {
      headers: { "if-none-match": first.headers.get("etag") ?? "" },
    });
    expect([first.status, await first.text()]).toEqual([200, SCRIPT]);
    expect([again.status, await again.text()]).toEqual([304, ""]);
    expect(again.headers.get("etag")).toBe(first.headers.get("etag"));
  });

  it("reads a file once, and again if reading failed", async () => {
    const read: string[] = [];
    const { get, logs } = open({
      read: async (path) => {
        read.push(path);
        if (read.length === 1) throw new Error("no such file: swagger-ui-bundle.js");
        return new TextEncoder().encode(SCRIPT);
      },
    });
    const failed = await get("/reference/page.js");
    expect(failed.status).toBe(500);
    expect(await failed.text()).not.toContain("no such file");
    expect(logs).toMatchObject([{ fields: { err: { message: expect.stringContaining("no such file") } } }]);
    expect(await (await get("/reference/page.js")).text()).toBe(SCRIPT);
    expect(await (await get("/reference/page.js")).text()).toBe(SCRIPT);
    expect(read).toEqual(["swagger-ui-bundle.js", "swagger-ui-bundle.js"]);
  });

  it.each(["constructor", "__proto__", "toString", "swagger-ui-bundle.js"])(
    "has no file %s",
    async (name) => {
      const { get } = open();
      expect((await get(`/reference/${name}`)).status).toBe(404);
    },
  );

  it("shows the document with Scalar, which has no style sheet and makes style elements", async () => {
    const read: string[] = [];
    const { get } = open({ page: "scalar", read: async (path) => `${read.push(path)}` });
    const page = await get("/reference");
    expect(page.headers.get("content-security-policy")).toContain("style-src 'self' 'unsafe-inline';");
    expect(await page.text()).not.toContain("page.css");
    expect(await (await get("/reference/page.js")).text()).toBe("1");
    expect((await get("/reference/page.css")).status).toBe(404);
    expect(await (await get("/reference/start.js")).text()).toContain(
      'Scalar.createApiReference("#reference"',
    );
    expect(read).toEqual(["dist/browser/standalone.js"]);
  });

  it("is not served without the option, nor by a gateway that closes", async () => {
    const { gateway } = createTestGateway(undefined, { openapi: true });
    expect((await gateway.fetch(new Request("http://gateway.test/reference"))).status).toBe(404);
    const closed = open();
    await closed.gateway.close();
    expect((await closed.get("/reference")).status).toBe(503);
  });
});
