import { expect, it } from "vitest";
import { createGateway } from "../../gateway.js";

const OPTIONS = {
  models: { m: { family: "seedream" } },
  channels: [{ id: "ark", family: "seedream", apiKey: "k" }],
} as const;

it("a function among the options is watched once until the gateway is closed, and each change is one reload", async () => {
  const log: string[] = [];
  const changes: (() => void)[] = [];
  const callers = Object.assign(
    () => {
      log.push("read");
      return [{ id: "me", key: "secret-1" }];
    },
    {
      watch(onChange: () => void) {
        log.push("watched");
        changes.push(onChange);
        return () => void log.push("ended");
      },
    },
  );
  const gateway = createGateway({ ...OPTIONS, callers });
  expect(gateway.isReloadable).toBe(true);

  for (const tell of changes) tell();
  await gateway.close();
  for (const tell of changes) tell();

  expect(log).toEqual(["read", "watched", "read", "ended"]);
});

it("a gateway without functions among its options cannot be reloaded", async () => {
  const gateway = createGateway({ ...OPTIONS, callers: [{ id: "me", key: "secret-1" }] });
  expect(gateway.isReloadable).toBe(false);
  await gateway.close();
});
