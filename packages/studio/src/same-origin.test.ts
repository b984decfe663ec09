import { expect, it } from "vitest";
import { openStudio } from "./testing/open-studio.js";

const CREATE = { method: "POST", path: "/api/callers", body: { id: "new" } };
const HOST = "studio.example";
const NO_SITE = { "sec-fetch-site": undefined };

it.each([
  ["the browser says that the page has the same origin", {}],
  ["the origin has the host of the request", { ...NO_SITE, origin: `https://${HOST}` }],
  [
    "the browser's word comes before the origin, which a proxy may have changed",
    { origin: "https://inner.example" },
  ],
])("a change is made if %s", async (_what, headers) => {
  const { send } = openStudio({ authorize: () => "admin" });

  expect((await send({ ...CREATE, headers: { host: HOST, ...headers } })).status).toBe(201);
});

it.each([
  ["without the studio's header", { "x-calotype-studio": undefined }],
  ["with another value of that header", { "x-calotype-studio": "yes" }],
  ["from another site", { "sec-fetch-site": "cross-site" }],
  ["from another origin of the site", { "sec-fetch-site": "same-site" }],
  ["from the address bar", { "sec-fetch-site": "none" }],
  ["from another origin, of a browser that sends no more", { ...NO_SITE, origin: "https://evil.example" }],
  ["from the same host at another port", { ...NO_SITE, origin: `https://${HOST}:8443` }],
  ["from a sandboxed page", { ...NO_SITE, origin: "null" }],
  ["without any origin", NO_SITE],
])("a change %s is refused", async (_what, headers) => {
  const { send, gateway } = openStudio({ authorize: () => "admin" });

  const { status, json } = await send({ ...CREATE, headers: { host: HOST, ...headers } });

  expect([status, json]).toMatchObject([403, { error: { code: "cross_site_request" } }]);
  expect(await gateway.callers.find("new")).toBeUndefined();
});

it.each(["POST /api/estimate", "POST /api/images/generations", "POST /api/prices/calculate"])(
  "%s of another site is refused too",
  async (route) => {
    const [method = "", path = ""] = route.split(" ");
    const { send, emulator } = openStudio({ authorize: () => "admin", caller: "shop" });

    const { status } = await send({ method, path, headers: { "sec-fetch-site": "cross-site" } });

    expect(status).toBe(403);
    expect(emulator.requests).toEqual([]);
  },
);

it("a page of another site cannot read what GET returns", async () => {
  const { send } = openStudio({ authorize: () => "admin" });

  const { status, headers } = await send({
    path: "/api/callers",
    headers: { "sec-fetch-site": "cross-site" },
  });

  expect(status).toBe(403);
  expect(headers["access-control-allow-origin"]).toBeUndefined();
});

it.each(["PUT", "DELETE", "OPTIONS", "GET"])("%s changes nothing", async (method) => {
  const { send, gateway } = openStudio();

  const { status } = await send({ method, path: "/api/callers/shop/revoke" });

  expect(status).toBe(405);
  expect(await gateway.callers.audit()).toEqual([]);
});
