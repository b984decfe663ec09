import { expect, it } from "vitest";
import { createEmulator } from "./emulator.js";
import { askArk, askDashscope, download } from "./test-support/ask.js";

it("records calls, downloads and requests to unknown paths, in order", async () => {
  const emulator = createEmulator();
  const { requests } = emulator;
  const { body } = await askArk(emulator);
  await askDashscope(emulator, {}, {});
  await download(emulator, body.data[0]?.url);
  await download(emulator, "http://emulator.test/v1/images/generations");
  expect(requests.map(({ route }) => route)).toEqual(["ark", "dashscope", "link", "unknown"]);
  expect(requests[2]?.headers.authorization).toBeUndefined();
});

it("keeps the latest thousand", async () => {
  const emulator = createEmulator();
  for (let index = 0; index < 1010; index += 1) {
    await download(emulator, `http://emulator.test/nothing/${index}`);
  }
  expect(emulator.requests).toHaveLength(1000);
  expect(emulator.requests[0]?.url).toMatch(/\/10$/);
});
