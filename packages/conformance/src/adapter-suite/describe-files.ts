import { buffer } from "node:stream/consumers";
import { createFileStore } from "@calotype/node";
import { describe, expect, it, vi } from "vitest";
import { toComparable } from "../support/comparable.js";
import { type Call, open, responseTo } from "../support/http-client.js";
import { jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { sendByFetch } from "../support/send-by-fetch.js";
import { countOpenFiles, createFolder, LINK_SECRET, pathTo, storeOne } from "../support/stored-files.js";
import { type Providers, startGateway } from "../support/test-gateway.js";
import type { AdapterHost, Mounting } from "./adapter-host.js";
import { mountFor } from "./mount-for.js";

const BYTES = Buffer.from("An image of ninety-nine bytes. ".repeat(4).slice(0, 99));
/** More than a host has connections by mistake, for example one. */
const LEAVING_CLIENTS = 40;

/** The route that serves stored images. */
export function describeFiles(host: AdapterHost, providers: () => Providers): void {
  const mount = mountWithImage(host, providers);

  describe("stored images", () => {
    it.each<[string, (id: string) => Call, number, string]>([
      ["a link", (id) => get(pathTo(id)), 200, BYTES.toString()],
      [
        "a link with a wrong key",
        (id) => get(pathTo(id), { authorization: "Bearer x" }),
        200,
        BYTES.toString(),
      ],
      ["HEAD", (id) => ({ ...get(pathTo(id)), method: "HEAD" }), 200, ""],
      ["a range", (id) => get(pathTo(id), { range: "bytes=3-7" }), 206, BYTES.toString().slice(3, 8)],
      ["the last bytes", (id) => get(pathTo(id), { range: "bytes=-9" }), 206, BYTES.toString().slice(90)],
      ["If-None-Match", (id) => get(pathTo(id), { "if-none-match": `"${id}"` }), 304, ""],
    ])("are the same for %s", async (_what, create, status, text) => {
      const { id, gateway, mounted } = await mount(BYTES);
      const call = create(id);

      const response = await mounted.send(call);

      expect(response).toMatchObject({ status, text, headers: { etag: `"${id}"` } });
      expect(toComparable(response)).toEqual(toComparable(await sendByFetch(gateway, call)));
    });

    it.each<[string, (id: string) => Call, number, string]>([
      [
        "a range without bytes",
        (id) => get(pathTo(id), { range: "bytes=99-" }),
        416,
        "range_not_satisfiable",
      ],
      ["a changed link", (id) => get(pathTo(id).replace("expires=1", "expires=2")), 404, "file_not_found"],
      ["another id", () => get(pathTo("f".repeat(32))), 404, "file_not_found"],
      ["a path in place of the id", () => get(pathTo("..%2f..%2fsecret")), 404, "file_not_found"],
      ["an expired link", (id) => get(pathTo(id, 1_700_000_000)), 410, "file_expired"],
      ["another method", (id) => ({ ...get(pathTo(id)), method: "DELETE" }), 405, "method_not_allowed"],
    ])("are refused for %s", async (_what, create, status, code) => {
      const { id, gateway, mounted } = await mount(BYTES);
      const call = create(id);

      const response = await mounted.send(call);

      expect(response.status).toBe(status);
      expect(JSON.parse(response.text)).toMatchObject({ error: { code } });
      expect(toComparable(response)).toEqual(toComparable(await sendByFetch(gateway, call)));
    });

    // Next.js removes the header from every response.
    // Not `skipIf`: in CI no test may be skipped.
    const itHasLengths = host.name === "Next.js" ? () => {} : it;
    itHasLengths("have their length in responses to GET and HEAD, and none in a 304", async () => {
      const { id, mounted } = await mount(BYTES);
      const lengthOf = async (call: Call): Promise<string | undefined> =>
        (await mounted.send(call)).headers["content-length"];
      expect(await lengthOf(get(pathTo(id)))).toBe("99");
      expect(await lengthOf({ ...get(pathTo(id)), method: "HEAD" })).toBe("99");
      expect(await lengthOf(get(pathTo(id), { range: "bytes=1-2" }))).toBe("2");
      expect(await lengthOf(get(pathTo(id), { "if-none-match": "*" }))).toBeUndefined();
    });

    it("are served below a base path", async () => {
      const { id, mounted } = await mount(BYTES, { basePath: "/ai" });
      expect((await mounted.send(get(`/ai${pathTo(id)}`))).status).toBe(200);
      expect((await mounted.send(get(pathTo(id)))).text).not.toContain("An image");
    });

    it("of a type in which a browser runs scripts are downloads", async () => {
      const { mounted, id } = await mount(Buffer.from("<svg/>"), { contentType: "image/svg+xml" });
      expect((await mounted.send(get(pathTo(id)))).headers).toMatchObject({
        "content-type": "image/svg+xml",
        "content-disposition": `attachment; filename="${id}.svg"`,
        "content-security-policy": "sandbox; default-src 'none'",
        "x-content-type-options": "nosniff",
      });
    });
  });

  const mountings: Mounting[] = host.hasMountPaths ? [{}, { at: "/ai" }] : [{}];
  it.each(mountings)("the link of a response leads to the stored image: mounted %j", async (mounting) => {
    const folder = await createFolder();
    const { gateway } = startGateway(providers(), {
      results: { store: createFileStore({ directory: folder }) },
    });
    const { at = "" } = mounting;
    const { send, url: origin } = await mountFor(host, gateway, mounting);

    const response = await send({ ...jsonCall(SEEDREAM_BODY), path: `${at}/v1/images/generations` });
    const { data }: { data: { url: string }[] } = JSON.parse(response.text);
    const url = data[0]?.url ?? "";
    const image = await send(get(url.slice(new URL(url).origin.length)));

    expect(url.startsWith(`${origin || "http://gateway.test"}${at}/v1/images/files/`)).toBe(true);
    expect(image.status).toBe(200);
    expect(image.headers["content-type"]).toMatch(/^image\//);
  });
}

/** A stored image of many bytes, of a host with a socket. */
export function describeLargeFiles(host: AdapterHost, providers: () => Providers): void {
  const mount = mountWithImage(host, providers);

  describe("a large stored image", () => {
    const large = Buffer.alloc(8_000_000, "0123456789abcdef!");

    it("arrives byte for byte, and in part", async () => {
      const { id, mounted } = await mount(large);
      const whole = await readBytes(mounted.url, get(pathTo(id)));
      const part = await readBytes(mounted.url, get(pathTo(id), { range: "bytes=65530-7000000" }));
      expect(whole.equals(large)).toBe(true);
      expect(part.equals(large.subarray(65_530, 7_000_001))).toBe(true);
    });

    it.runIf(process.platform === "linux")("is closed for every client that leaves", async () => {
      const { id, folder, mounted } = await mount(large);
      const clients = await Promise.all(
        Array.from({ length: LEAVING_CLIENTS }, async () => {
          const client = open(mounted.url, get(pathTo(id)));
          client.end();
          const response = await responseTo(client);
          response.on("error", () => {});
          return client.on("error", () => {});
        }),
      );
      expect(await countOpenFiles(folder)).toBe(LEAVING_CLIENTS);
      for (const client of clients) client.destroy();
      await vi.waitFor(async () => expect(await countOpenFiles(folder)).toBe(0));
      expect((await mounted.send({ ...get(pathTo(id)), method: "HEAD" })).status).toBe(200);
    });
  });
}

/** Returns a function that mounts a gateway whose store has one image. */
function mountWithImage(host: AdapterHost, providers: () => Providers) {
  return async (bytes: Uint8Array, { basePath = "", contentType = "image/png" } = {}) => {
    const { folder, store, id } = await storeOne(bytes, contentType);
    const { gateway } = startGateway(providers(), {
      results: { store, secrets: [LINK_SECRET] },
      ...(basePath !== "" && { basePath }),
    });
    return { folder, id, gateway, mounted: await mountFor(host, gateway) };
  };
}

const get = (path: string, headers: Record<string, string> = {}): Call => ({ method: "GET", path, headers });

async function readBytes(url: string, call: Call): Promise<Buffer> {
  const outgoing = open(url, call);
  outgoing.end();
  return buffer(await responseTo(outgoing));
}
