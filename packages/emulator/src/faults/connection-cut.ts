const mark = Symbol.for("calotype.emulator.connection-cut");

/**
 * The emulator cuts the connection. Made to look like what the global `fetch` raises on a reset: `fetch failed`
 * before the headers, `terminated` after them, and the socket's error as its cause.
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
