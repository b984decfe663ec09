import { expect, it } from "vitest";
import { createPrivateObjects } from "./private-objects.js";
import type { ResultStore } from "./store.js";

const never = (): Promise<never> => new Promise(() => {});

async function* toBody(): AsyncGenerator<Uint8Array> {
  yield Uint8Array.of(1);
}

it.each<[string, Partial<ResultStore>]>([
  ["never ends, and does not look at its signal", { put: never }],
  [
    "reads the whole body, and never ends",
    {
      async put({ body }) {
        await new Response(ReadableStream.from(body)).arrayBuffer();
        return await never();
      },
    },
  ],
])("put rejects if the store %s", async (_what, store) => {
  const objects = createPrivateObjects({ put: never, open: never, ...store }, 20);

  await expect(objects?.put(toBody(), { expiresAt: new Date() })).rejects.toThrow("took too long");
});
