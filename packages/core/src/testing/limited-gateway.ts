import type { GatewayOptions } from "../gateway-options/options.js";
import type { CallerLimits } from "../types.js";
import { CALLER_KEY, createTestGateway, type Provider, type TestGateway } from "./test-gateway.js";

export const OTHER_KEY = "caller-canary-60b2f8d5";

/** The limits of a gateway in a test. */
interface LimitSettings {
  /** For all callers. */
  readonly limits?: CallerLimits | undefined;
  /** For the first caller. */
  readonly own?: CallerLimits | undefined;
  readonly options?: Partial<GatewayOptions> | undefined;
  readonly provider?: Provider | undefined;
}

/** Opens a gateway with two callers and a clock that the test controls. */
export function openLimited({ limits, own, options, provider }: LimitSettings): TestGateway & {
  readonly clock: { now: number };
} {
  const clock = { now: Date.UTC(2026, 10, 21) };
  const opened = createTestGateway(
    provider,
    {
      limits,
      callers: [
        { id: "me", key: CALLER_KEY, limits: own },
        { id: "you", key: OTHER_KEY },
      ],
      ...options,
    },
    { now: () => clock.now },
  );
  return { ...opened, clock };
}

/** Returns the statuses of responses, in order. */
export function statusesOf(responses: readonly { readonly status: number }[]): readonly number[] {
  return responses.map(({ status }) => status);
}

/** Returns the values of these headers. */
export function headersOf(headers: Headers, names: readonly string[]): Record<string, string | null> {
  return Object.fromEntries(names.map((name) => [name, headers.get(name)]));
}
