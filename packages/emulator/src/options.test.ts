import { expect, it } from "vitest";
import { createEmulator } from "./emulator.js";

it("an old name of an option is refused with the new name", async () => {
  const options = { pictures: "tiny" } as object;
  expect(() => createEmulator(options)).toThrow('"pictures" is now called "images"');
  const listenOptions = { onAnswered: () => {} } as object;
  await expect(createEmulator().listen(listenOptions)).rejects.toThrow(
    '"onAnswered" is now called "onFinished"',
  );
});
