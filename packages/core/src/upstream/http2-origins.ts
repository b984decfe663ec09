import type { buildConnector } from "undici";

/** Which origins speak HTTP/2, as the latest connection to each has told. */
export interface Http2Origins {
  has(origin: string): boolean;
  /** The same connector, whose connections tell. */
  learnFrom(connect: buildConnector.connector): buildConnector.connector;
}

/** Result links may have any origin. What is forgotten is known again with the next connection. */
const CAPACITY = 1_000;

/** Knows none. */
export function createHttp2Origins(): Http2Origins {
  const origins = new Set<string>();
  const note = (origin: string, speaksHttp2: boolean): void => {
    if (!speaksHttp2) return void origins.delete(origin);
    if (origins.size >= CAPACITY) origins.clear();
    origins.add(origin);
  };
  return {
    has: (origin) => origins.has(origin),
    learnFrom: (connect) => (options, callback) =>
      connect(options, (...outcome) => {
        const [error, socket] = outcome;
        const { protocol, host, hostname } = options;
        if (error === null) {
          note(`${protocol}//${host ?? hostname}`, "alpnProtocol" in socket && socket.alpnProtocol === "h2");
        }
        callback(...outcome);
      }),
  };
}
