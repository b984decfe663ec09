import { renderText } from "../report/render-tables.ts";
import type { Progress } from "../run-bench.ts";
import { createChargeBenchmarks } from "./charge-benchmarks.ts";
import { createGatewayBenchmarks, createLargeResponseBenchmark } from "./gateway-benchmarks.ts";
import { createRelayBenchmarks } from "./relay-benchmarks.ts";
import { timeFunction } from "./time-function.ts";

/**
 * Measures parts of the gateway separately. Parts that no package exports, such as the JSON scanner, are
 * measured through the gateway.
 */
export async function runMicroBenchmarks({ say }: Progress): Promise<void> {
  const rows = [["", "CPU µs per call", "calls/s", "MB/s"]];
  const benchmarks = [
    ...createRelayBenchmarks(),
    ...createChargeBenchmarks(),
    ...createGatewayBenchmarks(),
    createLargeResponseBenchmark("b64-4mb"),
    createLargeResponseBenchmark("b64-32mb"),
  ];
  for (const { title, bytes, run } of benchmarks) {
    const microseconds = await timeFunction(run);
    const callsPerSecond = 1e6 / microseconds;
    rows.push([
      title,
      microseconds.toFixed(2),
      Math.round(callsPerSecond).toLocaleString("en-US"),
      bytes === undefined ? "" : Math.round((bytes * callsPerSecond) / 1e6).toLocaleString("en-US"),
    ]);
  }
  say(renderText({ title: "Parts of the gateway", rows, notes: [] }));
}
