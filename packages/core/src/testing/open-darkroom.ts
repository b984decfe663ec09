import type { GatewayOptions } from "../gateway-options/options.js";
import { quickDarkroom } from "./darkroom.js";
import { createTestGateway, type Provider, type TestGateway } from "./test-gateway.js";

/** A poll's response: the job is done, with one picture. */
export const DONE = { state: "done", pictures: ["https://pictures.darkroom.test/1.png"] };

export const isSubmission = (url: string): boolean => url.endsWith("/develop");

/** Options without the channel or the model of a request of {@link openDarkroom}. */
export const GONE: Readonly<Record<string, Partial<GatewayOptions>>> = {
  channel: { channels: [{ id: "other", family: "darkroom", apiKey: "canary-two" }] },
  model: {
    models: { slide: { family: "darkroom" } },
    billing: {
      model_details: { slide: { pricing_mode: "per-request", model_price: "0.1" } },
      onLost: "charge",
    },
  },
};

/** A gateway with one model of a family that works with jobs, on a ledger that another gateway may have used before. */
export function openDarkroom(
  ledger: GatewayOptions["ledger"],
  provider: Provider,
  options: Partial<GatewayOptions> = {},
): TestGateway {
  return createTestGateway(provider, {
    ledger,
    families: [quickDarkroom],
    models: { film: { family: "darkroom" } },
    channels: [{ id: "one", family: "darkroom", apiKey: "canary-one" }],
    billing: {
      model_details: { film: { pricing_mode: "per-request", model_price: "0.1" } },
      onLost: "charge",
    },
    ...options,
  });
}

/** The gateway of {@link openDarkroom} whose provider accepts jobs, `t1`, `t2` and so on, and ends none. */
export function openWaitingDarkroom(
  ledger: GatewayOptions["ledger"],
  options?: Partial<GatewayOptions>,
): TestGateway {
  let submitted = 0;
  return openDarkroom(
    ledger,
    ({ url }) => Response.json(isSubmission(url) ? { id: `t${++submitted}` } : { state: "pending" }),
    options,
  );
}

/** Closes a gateway in the middle of its work, when its provider has been polled. */
export async function cutOffWhenPolled({ calls, gateway }: TestGateway): Promise<void> {
  await until(() => calls.some(({ url }) => !isSubmission(url)));
  await gateway.close({ deadlineSeconds: 0.01 });
}

export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) {
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
}
