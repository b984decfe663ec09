import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { BUCKET, CREDENTIALS, FakeS3, REGION } from "./testing/fake-s3.js";

it("an image of 64 MiB from a slow source to a slow server needs the memory of two parts of 8 MiB", async () => {
  const server = new FakeS3();
  server.keepsBytes = false;
  server.chunkDelayMs = 1;
  const endpoint = await server.listen();
  onTestFinished(() => server.close());
  const options = JSON.stringify({ endpoint, region: REGION, bucket: BUCKET, ...CREDENTIALS });
  const script = join(import.meta.dirname, "testing/put-large-image.ts");

  const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", script, options]);

  const peak = JSON.parse(stdout) as { rss: number; external: number };
  expect(server.operations().filter((one) => one === "UploadPart")).toHaveLength(8);
  // The buffers, without the copy that a hash needs for a moment.
  expect(peak.external).toBeLessThan(17);
  // Everything, with what the garbage collector has not freed. An upload in one piece needs 64 MiB and more.
  expect(peak.rss).toBeLessThan(60);
});
