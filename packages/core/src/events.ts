import type { FailureEvent, RequestEvent } from "./hooks.js";
import type { Logger } from "./logger.js";
import { isPromiseLike } from "./promise-like.js";

/** The operator's functions for what happened; absent where there are none. However they fail, no request breaks. */
export interface Events {
  readonly request: ((event: RequestEvent) => void) | undefined;
  readonly error: ((event: FailureEvent) => void) | undefined;
}

/** Calls the operator's functions where there are any, and logs how they fail. */
export function createEvents({ onRequest, onError }: EventOptions, logger: Logger): Events {
  return {
    request: guard("onRequest", onRequest, logger),
    error: guard("onError", onError, logger),
  };
}

interface EventOptions {
  readonly onRequest?: ((event: RequestEvent) => unknown) | undefined;
  readonly onError?: ((event: FailureEvent) => unknown) | undefined;
}

function guard<E extends { readonly id: string }>(
  name: string,
  hook: ((event: E) => unknown) | undefined,
  logger: Logger,
): ((event: E) => void) | undefined {
  if (hook === undefined) return undefined;
  return (event) => {
    const fail = (error: unknown): void =>
      logger.error({ requestId: event.id, err: error }, `${name} failed.`);
    try {
      const result = hook(event);
      if (isPromiseLike(result)) result.then(undefined, fail);
    } catch (error) {
      fail(error);
    }
  };
}
