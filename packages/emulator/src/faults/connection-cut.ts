const mark = Symbol.for("calotype.emulator.connection-cut");

/**
 * The emulator cuts the connection. The error looks like the error of the global `fetch` after a reset: `fetch failed`
 * before the headers, `terminated` after them, with the socket's error as its cause.
 */
export class ConnectionCut extends TypeError {
  readonly [mark] = true;

  constructor(message: "fetch failed" | "terminated") {
    super(message, { cause: Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }) });
  }
}

export function isConnectionCut(error: unknown): error is ConnectionCut {
  return error instanceof Error && mark in error;
}
