import type { ImageToStore, ResultStore, StoredImage } from "@calotype/core/stores";
import { expect, it } from "vitest";
import { CALLER_KEY, MODEL, type OpenStudio, openStudio } from "../testing/open-studio.js";
import type { StoredImages } from "../wire.js";

interface MemoryStore extends ResultStore {
  readonly images: Map<string, Omit<StoredImage, "body">>;
  readonly bytes: Map<string, Buffer>;
}

/** A store in memory. */
function createStore(contentType = "image/png", parts: Partial<ResultStore> = {}): MemoryStore {
  const images: MemoryStore["images"] = new Map();
  const bytes: MemoryStore["bytes"] = new Map();
  return {
    images,
    bytes,
    link: ({ id }) => `https://store.test/${id}`,
    async put({ id, body }: ImageToStore) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) chunks.push(chunk.slice());
      const whole = Buffer.concat(chunks);
      bytes.set(id, whole);
      images.set(id, { contentType, byteLength: whole.length });
    },
    async open(id, range) {
      const image = images.get(id);
      if (image === undefined) return undefined;
      const whole = bytes.get(id) ?? Buffer.of();
      const part = range === undefined ? whole : whole.subarray(range.first, range.last + 1);
      return { ...image, body: ReadableStream.from([new Uint8Array(part)]) };
    },
    ...parts,
  };
}

/** Makes an image as a client of the gateway, and returns the id of the request. */
async function makeImage({ gateway }: OpenStudio, headers: Record<string, string> = {}): Promise<string> {
  const response = await gateway.fetch(
    new Request("http://localhost/v1/images/generations", {
      method: "POST",
      headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json", ...headers },
      body: JSON.stringify({ model: MODEL, prompt: "a fox" }),
    }),
  );
  await response.text();
  return response.headers.get("x-request-id") ?? "";
}

async function listImages({ send }: OpenStudio, id: string): Promise<StoredImages["images"]> {
  const { json } = await send({ path: `/api/requests/${id}/images` });
  return (json as StoredImages).images;
}

it("the stored images of a request are listed and sent, to viewers too", async () => {
  const store = createStore();
  const test = openStudio({ authorize: () => "viewer" }, { results: { store } });
  const id = await makeImage(test);
  const [image = "", { byteLength } = { byteLength: 0 }] = [...store.images][0] ?? [];

  expect(await listImages(test, id)).toEqual([
    { id: image, state: "stored", byteLength, hasThumbnail: true },
  ]);
  const { status, headers, text } = await test.send({ path: `/api/requests/${id}/images/${image}` });
  expect(status).toBe(200);
  expect(text).toBe(store.bytes.get(image)?.toString());
  expect(headers).toMatchObject({
    "content-type": "image/png",
    "content-length": String(byteLength),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "content-security-policy": expect.stringContaining("default-src 'none'"),
  });
});

it("the images of a task are those of its request", async () => {
  const store = createStore();
  const test = openStudio({}, { results: { store }, tasks: { concurrency: 0 } });
  const id = await makeImage(test, { prefer: "respond-async" });
  await test.gateway.runTasks();

  const images = [...store.images].filter(([, { contentType }]) => contentType === "image/png");
  expect((await listImages(test, id)).map((image) => image.id)).toEqual(images.map(([image]) => image));
  expect(images).toHaveLength(1);
});

it("an image that is not of the request is not sent, although it is stored", async () => {
  const store = createStore();
  const test = openStudio({}, { results: { store } });
  const [id, other] = [await makeImage(test), await makeImage(test)];
  const [, second] = store.images.keys();

  expect((await test.send({ path: `/api/requests/${other}/images/${second}` })).status).toBe(200);
  for (const path of [`requests/${id}/images/${second}`, `requests/nothing/images/${second}`]) {
    expect((await test.send({ path: `/api/${path}` })).status).toBe(404);
  }
  const foreign = { "sec-fetch-site": "cross-site" };
  const path = `/api/requests/${other}/images/${second}`;
  expect((await test.send({ path, headers: foreign })).status).toBe(403);
});

it("what a browser could run is a download, and has no thumbnail", async () => {
  const store = createStore("image/svg+xml");
  const test = openStudio({}, { results: { store } });
  const id = await makeImage(test);
  const [image = ""] = store.images.keys();

  expect(await listImages(test, id)).toMatchObject([{ state: "stored", hasThumbnail: false }]);
  const { headers } = await test.send({ path: `/api/requests/${id}/images/${image}` });
  expect(headers).toMatchObject({
    "content-type": "application/octet-stream",
    "content-disposition": "attachment",
  });
});

it("a large image has no thumbnail", async () => {
  const store = createStore();
  const test = openStudio({}, { results: { store } });
  const id = await makeImage(test);
  const [image = ""] = store.images.keys();
  store.images.set(image, { contentType: "image/png", byteLength: 9 * 1024 * 1024 });

  expect(await listImages(test, id)).toMatchObject([{ state: "stored", hasThumbnail: false }]);
});

it("an image that the store has deleted is gone", async () => {
  const store = createStore();
  const test = openStudio({}, { results: { store } });
  const id = await makeImage(test);
  const [image = ""] = store.images.keys();
  store.images.clear();

  expect(await listImages(test, id)).toEqual([{ id: image, state: "gone" }]);
  expect((await test.send({ path: `/api/requests/${id}/images/${image}` })).status).toBe(404);
});

it("says that the store cannot be read, or has failed, which is logged", async () => {
  const storeImage = async (image: ImageToStore): Promise<string> => {
    await createStore().put(image);
    return "https://files.test/1";
  };
  const unreadable = openStudio({}, { results: { store: storeImage } });
  expect(await listImages(unreadable, await makeImage(unreadable))).toMatchObject([{ state: "unreadable" }]);

  const failing = createStore("image/png", { open: () => Promise.reject(new Error("no disk")) });
  const test = openStudio({}, { results: { store: failing } });
  expect(await listImages(test, await makeImage(test))).toMatchObject([{ state: "failed" }]);
  expect(test.log.join("\n")).toContain("no disk");
});

it("a request without results has no images", async () => {
  const test = openStudio();
  const id = await makeImage(test);
  expect(await listImages(test, id)).toEqual([]);
});
