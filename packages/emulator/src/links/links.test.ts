import { describe, expect, it } from "vitest";
import { createEmulator, type Emulator } from "../emulator.js";
import { askArk, askDashscope, download } from "../test-support/ask.js";
import { inspectLink } from "../test-support/images.js";

const start = Date.parse("2026-11-21T09:30:00.900Z");

function onAClock(ttl?: number) {
  const clock = { now: start };
  const options = { now: () => clock.now, images: "tiny" as const };
  return {
    clock,
    emulator: createEmulator(ttl === undefined ? options : { ...options, linkTtlSeconds: ttl }),
  };
}

const makers: readonly (readonly [string, (emulator: Emulator) => Promise<string>])[] = [
  ["Ark", async (emulator) => (await askArk(emulator)).body.data[0]?.url ?? ""],
  [
    "DashScope",
    async (emulator) =>
      (await askDashscope(emulator)).body.output.choices[0]?.message.content[0]?.image ?? "",
  ],
];

const expiryOf: Readonly<Record<string, object>> = {
  Ark: { "X-Tos-Expires": "86400", "X-Tos-Date": "20261121T093000Z" },
  DashScope: { Expires: String(Math.floor(start / 1000) + 86_400) },
};

describe.each(makers)("a result link of %s", (provider, makeLink) => {
  it("is served as an image for exactly 24 hours", async () => {
    const { clock, emulator } = onAClock();
    const url = await makeLink(emulator);
    clock.now = start - 900 + 86_400_000 - 1;
    const alive = await download(emulator, url);
    expect(alive.status).toBe(200);
    expect(alive.headers.get("content-type")).toMatch(/^image\//);
    expect(Number(alive.headers.get("content-length"))).toBe((await alive.arrayBuffer()).byteLength);
    clock.now += 1;
    const expired = await download(emulator, url);
    expect(expired.status).toBe(403);
    expect(expired.headers.get("content-type")).toBe("application/xml");
  });

  it("is valid as long as the options say", async () => {
    const { clock, emulator } = onAClock(60);
    const url = await makeLink(emulator);
    clock.now += 61_000;
    expect((await download(emulator, url)).status).toBe(403);
  });

  it("shows its expiry in the provider's own parameters", async () => {
    const { emulator } = onAClock();
    const parameters = Object.fromEntries(new URL(await makeLink(emulator)).searchParams);
    expect(parameters).toMatchObject(expiryOf[provider] ?? {});
  });

  it.each([
    ["a later expiry", (url: string) => url.replace(/Expires=\d+/, "Expires=99999999999")],
    ["another signature", (url: string) => url.replace(/Signature=\w{4}/, "Signature=0000")],
    ["no signature", (url: string) => url.replace(/[?&][\w-]*Signature=\w+/, "")],
    ["another image", (url: string) => url.replace(/results\/\w{4}/, "results/0000")],
    ["another ending", (url: string) => url.replace(/\.(?:jpeg|png)/, ".gif")],
    ["no parameters", (url: string) => url.replace(/\?.*/, "")],
  ])("responds with 403 to %s", async (_name, tamper) => {
    const { emulator } = onAClock();
    expect((await download(emulator, tamper(await makeLink(emulator)))).status).toBe(403);
  });

  it("needs no key and ignores one", async () => {
    const { emulator } = onAClock();
    const url = await makeLink(emulator);
    const headers = { authorization: "Bearer whatever" };
    expect((await emulator.fetch(new Request(url, { headers }))).status).toBe(200);
  });

  it("responds to HEAD without the image, and to other methods with 405", async () => {
    const { emulator } = onAClock();
    const url = await makeLink(emulator);
    const head = await emulator.fetch(new Request(url, { method: "HEAD" }));
    expect(head.status).toBe(200);
    expect(await head.text()).toBe("");
    expect((await emulator.fetch(new Request(url, { method: "POST" }))).status).toBe(405);
  });

  it("has already expired with a fault", async () => {
    const { emulator } = onAClock();
    emulator.faults.add({ expiredLinks: true });
    expect((await download(emulator, await makeLink(emulator))).status).toBe(403);
  });

  it("does not exist after a reset", async () => {
    const { emulator } = onAClock();
    const url = await makeLink(emulator);
    emulator.reset();
    expect((await download(emulator, url)).status).toBe(404);
  });
});

describe("result links", () => {
  it("point to the origin of the options", async () => {
    const emulator = createEmulator({ origin: "http://images.localhost:1234" });
    expect((await askArk(emulator)).body.data[0]?.url).toMatch(
      /^http:\/\/images\.localhost:1234\/ark-results\//,
    );
  });

  it("serve tiny images of about the requested shape in tiny mode, while the response reports the requested size", async () => {
    const { emulator } = onAClock();
    const { body } = await askArk(emulator, { size: "4096x2048" });
    expect(body).toMatchObject({ data: [{ size: "4096x2048" }], usage: { output_tokens: 32_768 } });
    expect(await inspectLink(emulator, body.data[0]?.url)).toMatchObject({
      format: "jpeg",
      width: 32,
      height: 16,
    });
  });
});
