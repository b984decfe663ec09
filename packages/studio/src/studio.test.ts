import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { FILES } from "#assets";
import { createStudio } from "./studio.js";
import { openSession } from "./testing/open-session.js";
import { openStudio } from "./testing/open-studio.js";

const script = FILES.find(([path]) => path.endsWith(".js"))?.[0] ?? "";

describe("the page", () => {
  it.each(["", "/", "/try", "/usage?period=30d", "/callers?caller=a", "/channels", "/prices"])(
    "is served at /studio%s",
    async (path) => {
      const { send } = openStudio();

      const { status, headers, text } = await send({ path });

      expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
      expect(text).toContain('<meta name="studio-base" content="/studio"');
      expect(text).toContain(`src="/studio/${script}"`);
      expect(text).not.toContain("__studio__");
    },
  );

  it("has a 404 for a path without a view, with the page that says so", async () => {
    const { status, text } = await openStudio().send({ path: "/nothing" });

    expect(status).toBe(404);
    expect(text).toContain('<div id="studio">');
  });

  it("knows the path at which a framework has mounted it", async () => {
    const { text } = await openStudio().send({ mountPath: "/ops/images" });

    expect(text).toContain('content="/ops/images"');
    expect(text).toContain(`src="/ops/images/${script}"`);
  });

  it.each(['/a"><script>', "/a b", "/<b>", "/a'", "//evil.example"])(
    "does not serve at the mount path %s, which it could not write into its addresses",
    (mountPath) => {
      const { studio } = openStudio();
      const request = {
        method: "GET",
        url: mountPath,
        mountPath,
        headers: new Headers({ host: "localhost" }),
        body: null,
        signal: new AbortController().signal,
        clientAddress: () => "127.0.0.1",
      };

      expect(studio.handle(request)).toBeNull();
    },
  );

  it("is under 200 kB after gzip with all of its files", () => {
    const bytes = FILES.reduce((sum, [, , base64]) => sum + Buffer.from(base64, "base64").length, 0);

    expect(bytes).toBeLessThan(200_000);
  });

  it("loads nothing from elsewhere and runs nothing from a string", () => {
    const texts = FILES.map(([, , base64]) => gunzipSync(Buffer.from(base64, "base64")).toString());
    const addresses = texts.flatMap((text) => text.match(/https?:\/\/[^\s"'`)<]+/g) ?? []);

    // The names of XML, the example address of an image in the code to copy, and a text of Base UI's errors.
    expect(
      addresses.filter(
        (address) =>
          !/^https?:\/\/(?:www\.w3\.org|example\.com|base-ui\.com\/production-error)(?:\/|$)/.test(address),
      ),
    ).toEqual([]);
    expect(texts.join("")).not.toMatch(
      /\beval\(|new Function\(|dangerouslySetInnerHTML=|\.insertAdjacentHTML\(/,
    );
  });
});

describe("the headers", () => {
  it.each(["", "/nothing", `/${script}`, "/assets/none.js", "/api/session", "/api/none", "/api/models"])(
    "protect /studio%s",
    async (path) => {
      const { headers } = await openStudio().send({ path });
      const policy = headers["content-security-policy"] ?? "";

      expect(policy.split("; ")).toEqual(
        expect.arrayContaining([
          "default-src 'none'",
          "script-src 'self'",
          "style-src 'self'",
          "frame-ancestors 'none'",
          "base-uri 'none'",
          "form-action 'none'",
        ]),
      );
      expect(policy).not.toMatch(/unsafe-|https?:|\*|data:/);
      expect(headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "x-frame-options": "DENY",
        "cross-origin-resource-policy": "same-origin",
      });
    },
  );

  it("let no one keep what the API and the page say", async () => {
    const { send } = openStudio();

    for (const path of ["", "/api/session", "/api/models"]) {
      expect((await send({ path })).headers["cache-control"]).toBe("no-store");
    }
  });
});

describe("the files of the page", () => {
  it("are sent gzipped to those who take that, and kept by the browser", async () => {
    const { send } = openStudio();

    const plain = await send({ path: `/${script}` });
    const packed = await send({ path: `/${script}`, headers: { "accept-encoding": "br, gzip;q=0.8" } });
    const refused = await send({ path: `/${script}`, headers: { "accept-encoding": "gzip;q=0" } });

    expect(packed.headers).toMatchObject({ "content-encoding": "gzip", vary: "accept-encoding" });
    expect(packed.headers["cache-control"]).toBe("private, max-age=31536000, immutable");
    expect(plain.text.length).toBeGreaterThan(10_000);
    expect([plain.headers["content-encoding"], refused.text]).toEqual([undefined, plain.text]);
  });

  it.each([
    "/assets/none.js",
    "/assets/../index.html",
    "/assets/%2e%2e/index.html",
    "/assets/",
    "/assets/__proto__",
  ])("are only those of the page: %s", async (path) => {
    expect((await openStudio().send({ path })).status).toBe(404);
  });
});

/** Visits an address of a host, from this machine. */
const visit = async (url: string, mountPath?: string) => {
  const { studio } = openStudio();
  return studio.handle({
    method: "GET",
    url,
    mountPath,
    headers: new Headers({ host: "localhost", cookie: await openSession(studio) }),
    body: null,
    signal: new AbortController().signal,
    clientAddress: () => "::1",
  });
};

describe("where it is mounted", () => {
  it.each(["/", "/studios", "/other/studio", "/v1/models", ""])("%j is not the studio's", async (url) => {
    expect(await visit(url)).toBeNull();
    expect(await visit(url, "/")).toBeNull();
  });

  it.each(["/studio?x=/studio", "http://localhost:1/studio/try", "/studio/"])("%s is", async (url) => {
    expect((await visit(url))?.status).toBe(200);
  });

  it("can be a path of the options", async () => {
    const { studio } = openStudio({ basePath: "/ops" });

    expect(studio.basePath).toBe("/ops");
    expect((await studio.fetch(new Request("http://localhost/studio"))).status).toBe(404);
    expect(
      (await studio.fetch(new Request("http://localhost/ops"), { clientAddress: () => "::1" })).status,
    ).toBe(403);
  });

  it.each(["studio", "/", "/a/", "/a b", "/a?b", ""])("refuses the path %j of the options", (basePath) => {
    const { gateway } = openStudio();

    expect(() => createStudio(gateway, { basePath })).toThrow(TypeError);
  });

  it("serves Web requests whose host says where they come from", async () => {
    const { studio } = openStudio();
    const cookie = await openSession(studio);
    const request = new Request("http://localhost/studio", { headers: { host: "localhost", cookie } });

    expect((await studio.fetch(request)).status).toBe(403);
    expect((await studio.fetch(request, { clientAddress: () => "127.0.0.1" })).status).toBe(200);
  });
});
