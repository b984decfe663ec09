import { describe, expect, it, vi } from "vitest";
import { createTestGateway, type TestGateway } from "../../testing/test-gateway.js";
import type { ResultStore } from "./store.js";

const ID = "0123456789abcdef0123456789abcdef";
const BYTES = Uint8Array.of(1, 2, 3, 4);

/** A gateway whose store has one image. */
function open(parts: Partial<ResultStore> = {}): TestGateway["gateway"] {
  const store: ResultStore = {
    put: async () => {},
    link: ({ id }) => `https://store.test/${id}`,
    async open(id, range = { first: 0, last: BYTES.length - 1 }) {
      if (id !== ID) return undefined;
      const part = BYTES.slice(range.first, range.last + 1);
      return { contentType: "image/png", byteLength: BYTES.length, body: ReadableStream.from([part]) };
    },
    ...parts,
  };
  return createTestGateway(() => new Response(), { results: { store, timeoutSeconds: 0.05 } }).gateway;
}

async function read(gateway: TestGateway["gateway"], ...image: Parameters<typeof gateway.openImage>) {
  const opened = await gateway.openImage(...image);
  if (opened === undefined) return undefined;
  const { body, ...facts } = opened;
  const bytes: number[] = [];
  for await (const chunk of body) bytes.push(...chunk);
  return { ...facts, bytes };
}

describe("openImage", () => {
  it("reads an image, or a part of it", async () => {
    const facts = { contentType: "image/png", byteLength: 4 };
    expect(await read(open(), ID)).toEqual({ ...facts, bytes: [1, 2, 3, 4] });
    expect(await read(open(), ID, { first: 1, last: 2 })).toEqual({ ...facts, bytes: [2, 3] });
  });

  it("finds nothing under another id, and does not ask the store for a string that is not an id", async () => {
    const find = vi.fn<NonNullable<ResultStore["open"]>>(async () => undefined);
    const gateway = open({ open: find });
    expect(await gateway.openImage("../secret")).toBeUndefined();
    expect(find).not.toHaveBeenCalled();
    expect(await gateway.openImage(ID.replace("0", "f"))).toBeUndefined();
    expect(find).toHaveBeenCalledOnce();
  });

  it.each<[string, Partial<ResultStore>, string]>([
    ["fails", { open: () => Promise.reject(new Error("no disk")) }, "no disk"],
    ["hangs", { open: () => new Promise(() => {}) }, "took too long"],
  ])("rejects if the store %s", async (_what, parts, message) => {
    await expect(open(parts).openImage(ID)).rejects.toThrow(message);
  });

  it("fails while it is read if the store has fewer bytes than it says", async () => {
    const image = { contentType: "image/png", byteLength: 9, body: ReadableStream.from([BYTES]) };
    await expect(read(open({ open: async () => image }), ID)).rejects.toThrow("fewer bytes");
  });

  it("is a TypeError if no images are stored", async () => {
    const { gateway } = createTestGateway(() => new Response());
    await expect(gateway.openImage(ID)).rejects.toThrow(TypeError);
  });
});
