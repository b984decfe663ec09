import process from "node:process";
import { isatty } from "node:tty";
import type { Gateway } from "@calotype/core";
import { checkOptionNames } from "@calotype/core/adapter";

/** How {@link closeOnSignals} closes a server. */
export interface CloseOnSignalsOptions {
  /**
   * How long requests in progress may take until they are cut off, as in `gateway.close`. Default 25: Kubernetes sends
   * SIGKILL 30 seconds after SIGTERM.
   */
  readonly deadlineSeconds?: number | undefined;
  /**
   * Called once when the gateway is closed. Close here what must be open until then, such as a ledger or a database
   * pool.
   */
  readonly onClosed?: (() => unknown) | undefined;
  /**
   * The signals that close the server. Default: SIGTERM and SIGINT, and SIGHUP as described at {@link closeOnSignals}. With
   * `SIGHUP` in the list it always closes the server.
   */
  readonly signals?: readonly NodeJS.Signals[] | undefined;
}

/** A server that {@link closeOnSignals} closes: one of `node:http`, `node:https` or `node:http2`. */
export interface ClosableServer {
  close(): unknown;
  /** Servers of `node:http2` have none. */
  closeIdleConnections?(): void;
}

const DEFAULT_DEADLINE_SECONDS = 25;
const DEFAULT_SIGNALS: readonly NodeJS.Signals[] = ["SIGTERM", "SIGINT"];
/** Standard input, output and error. */
const STANDARD_STREAMS = [0, 1, 2];
/** The time for clients that do not read their response, in milliseconds. Everything is settled by then. */
const EXIT_AFTER_MS = 2_000;

/**
 * Ends the process in order when it is told to end: the server accepts no new connection, requests in progress are
 * finished and settled, `onClosed` runs, idle connections are closed. The process exits two seconds later at the latest.
 * A second signal ends it at once. The gateway starts at once, see `gateway.start`, so that tasks need not wait for the
 * first request. If `onClosed` fails, the process ends with its error and exit code 1.
 *
 * SIGHUP reloads the gateway if options of it are functions, such as `jsonFile(…)`: if the reload fails, the error is printed, and
 * the gateway keeps the options that it has. Otherwise, and if the terminal of the process was closed, SIGHUP closes the server.
 *
 * @param server an HTTP, HTTPS or HTTP/2 server; `app.listen` of Express and Koa returns one
 * @throws RangeError if `deadlineSeconds` is not a number of at least 0
 * @throws TypeError for an unknown option
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { createGateway } from "@calotype/core";
 * import { closeOnSignals, toNodeHandler } from "@calotype/node";
 *
 * const gateway = createGateway({
 *   models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
 *   channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *   callers: [{ id: "me", key: process.env.CALOTYPE_API_KEY }],
 * });
 * const server = createServer(toNodeHandler(gateway)).listen(8787);
 * closeOnSignals(server, gateway);
 * ```
 */
export function closeOnSignals(
  server: ClosableServer,
  gateway: Pick<Gateway, "close"> & Partial<Pick<Gateway, "start" | "reload" | "isReloadable">>,
  options: CloseOnSignalsOptions = {},
): void {
  checkOptionNames("closeOnSignals", options, { deadlineSeconds: true, onClosed: true, signals: true });
  const { deadlineSeconds = DEFAULT_DEADLINE_SECONDS, onClosed, signals = DEFAULT_SIGNALS } = options;
  if (!(deadlineSeconds >= 0)) throw new RangeError("deadlineSeconds must be a number of at least 0.");
  // A server that closes on signals runs for long: it continues the tasks of its predecessor at once.
  gateway.start?.();

  const terminal = STANDARD_STREAMS.find((descriptor) => isatty(descriptor));
  let isClosing = false;
  const close = async (): Promise<void> => {
    isClosing = true;
    // Without a listener, a second signal ends the process.
    for (const signal of signals) process.off(signal, onSignal);
    server.close();
    await gateway.close({ deadlineSeconds });
    await onClosed?.();
    // Clients keep their connections open, and `server.close` waits for them.
    server.closeIdleConnections?.();
    setTimeout(() => process.exit(), EXIT_AFTER_MS).unref();
  };
  const onSignal = (): void => void close();
  for (const signal of signals) process.on(signal, onSignal);

  if (signals.includes("SIGHUP")) return;
  // It stays while the server closes: a terminal that is closed may send it twice, and it must not end the process at once.
  process.on("SIGHUP", () => {
    if (isClosing) return;
    const isTerminalClosed = terminal !== undefined && !isatty(terminal);
    if (gateway.isReloadable !== true || isTerminalClosed) return onSignal();
    gateway.reload?.().catch((error: unknown) => process.stderr.write(`${String(error)}\n`));
  });
}
