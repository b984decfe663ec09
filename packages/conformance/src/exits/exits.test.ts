import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { CALLER_KEY } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";

const PROGRAM = fileURLToPath(new URL("one-request.ts", import.meta.url));

const providers = useProviders({ images: "tiny" });

const run = async (): Promise<string> => {
  const args = [PROGRAM, providers().server.arkBaseUrl, CALLER_KEY];
  // A process that does not end is killed, and the test fails.
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 10_000 });
  return stdout;
};

it("a process ends after the response to its only request", async () => {
  expect(await run()).toBe("200");
});

it("a process whose provider never responds ends after gateway.close()", async () => {
  providers().emulator.faults.add({ hang: true });
  expect(await run()).toBe("504");
});
