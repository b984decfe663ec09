import type { ErrorEvent, RequestEvent } from "./hooks.js";
import type { Logger } from "./logger.js";
import { isPromiseLike } from "./promise-like.js";

/** The operator's functions for what happened. None of them, however it fails, breaks a request. */
export interface Events {
  request(event: RequestEvent): void;
  error(event: ErrorEvent): void;
}

/** Calls the operator's functions where there are any, and logs how they fail. */
export function createEvents({ onRequest, onError }: EventOptions, logger: Logger): Events {
  return {
    request: (event) => call("onRequest", onRequest, event, logger),
    error: (event) => call("onError", onError, event, logger),
  };
}

interface EventOptions {
  readonly onRequest?: ((event: RequestEvent) => unknown) | undefined;
  readonly onError?: ((event: ErrorEvent) => unknown) | undefined;
}

function call<E extends { readonly id: string }>(
  name: string,
  hook: ((event: E) => unknown) | undefined,
  event: E,
  logger: Logger,
): void {
  if (hook === undefined) return;
  const fail = (error: unknown): void => logger.error({ requestId: event.id, err: error }, `${name} failed.`);
  try {
    const result = hook(event);
    if (isPromiseLike(result)) result.then(undefined, fail);
  } catch (error) {
    fail(error);
  }
}
