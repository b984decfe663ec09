import { createGateway, type Gateway, type GatewayOptions, type UsageRecord } from "@calotype/core";
import { createEmulator, type Emulator, type EmulatorOptions, type EmulatorServer } from "@calotype/emulator";
import { onTestFinished } from "vitest";
import { CALLER_KEY, CHANNEL_KEY, QWEN_IMAGE, SEEDREAM } from "./test-names.ts";

export { CALLER_KEY, CHANNEL_KEY, QWEN_IMAGE, SEEDREAM };

/** Both providers on a socket. */
export interface Providers {
  readonly emulator: Emulator;
  readonly server: EmulatorServer;
}

export async function startProviders(options: EmulatorOptions = { images: "tiny" }): Promise<Providers> {
  const emulator = createEmulator(options);
  return { emulator, server: await emulator.listen() };
}

/** A real gateway with the emulated providers, and the arguments of its hooks and logger. */
export interface TestGateway {
  readonly gateway: Gateway;
  readonly records: readonly UsageRecord[];
  /** Every line of the log as it would be printed. */
  readonly logLines: readonly string[];
}

/** Creates a gateway that is closed when the test ends. The given options replace the defaults. */
export function startGateway({ server }: Providers, options: Partial<GatewayOptions> = {}): TestGateway {
  const records: UsageRecord[] = [];
  const logLines: string[] = [];
  const log = (fields: object, message: string): void => {
    logLines.push(JSON.stringify({ message, ...fields }));
  };
  const gateway = createGateway({
    models: { [SEEDREAM]: { family: "seedream" }, [QWEN_IMAGE]: { family: "qwen-image" } },
    channels: [
      {
        id: "ark",
        family: "seedream",
        apiKey: CHANNEL_KEY,
        baseUrl: server.arkBaseUrl,
        modelMapping: { [SEEDREAM]: "doubao-seedream-4-0-250828" },
      },
      {
        id: "dashscope",
        family: "qwen-image",
        apiKey: CHANNEL_KEY,
        baseUrl: server.dashscopeBaseUrl,
        modelMapping: { [QWEN_IMAGE]: "qwen-image-max" },
      },
    ],
    callers: [{ id: "tester", key: CALLER_KEY }],
    billing: {
      model_details: {
        [SEEDREAM]: { pricing_mode: "per-request", model_price: "0.03" },
        [QWEN_IMAGE]: { pricing_mode: "per-request", model_price: "0.075" },
      },
    },
    onUsage: (record) => records.push(record),
    logger: { warn: log, error: log },
    ...options,
  });
  onTestFinished(() => gateway.close());
  return { gateway, records, logLines };
}
