/**
 * The kind of a request. The stream of an `early stream` begins before the provider responds. An `openai stream` has the
 * format of OpenAI.
 */
const KINDS = ["json", "form", "stream", "early stream", "openai stream"] as const;
export type Kind = (typeof KINDS)[number];

export function isStreamKind(kind: Kind): boolean {
  return kind !== "json" && kind !== "form";
}

/** Where the gateway is mounted. */
const HOSTS = ["gateway.fetch", "node:http", "Express 4", "Express 5", "Koa 2", "Koa 3", "Next.js"] as const;
export type HostName = (typeof HOSTS)[number];

/** The protocol between the gateway and the provider. */
export type Protocol = "http/1.1" | "TLS" | "HTTP/2";

/** One cell of the matrix. Plain JSON. */
export interface Cell {
  readonly host: HostName;
  readonly kind: Kind;
  readonly fault: Fault;
  readonly protocol: Protocol;
  /** The major version of Node. Absent: the version that runs the tests. */
  readonly node?: 22 | 26;
}

/** Faults of the provider. */
const PROVIDER_FAULTS = [
  "none",
  "refuses the connection",
  "resets before the head",
  "resets after the head",
  "resets in the body",
  "resets inside an event",
  "stalls before the head",
  "stalls in the body",
  "is slow",
  "responds with 400",
  "responds with 401",
  "responds with 404",
  "responds with 429",
  "responds with 500",
  "responds with 503",
  "sends truncated JSON",
  "sends HTML with 200",
  "sends HTML with 503",
  "sends an empty 200",
] as const;
export type ProviderFault = (typeof PROVIDER_FAULTS)[number];

/** Faults of the client. */
const CLIENT_FAULTS = [
  "client leaves in its upload",
  "client leaves while it waits",
  "client leaves in the response",
  "client pauses in its upload",
  "client reads slowly",
  "client does not read",
] as const;
export type ClientFault = (typeof CLIENT_FAULTS)[number];

/** Faults of the stores. "In the request" means: while the provider works. */
const REDIS_FAULTS = [
  "Redis is down",
  "Redis is slow",
  "Redis is silent",
  "Redis goes away in the request",
] as const;
const POSTGRES_FAULTS = [
  "PostgreSQL is down",
  "PostgreSQL is slow",
  "PostgreSQL goes away in the request",
  "PostgreSQL ends the session in the request",
] as const;
export type RedisFault = (typeof REDIS_FAULTS)[number];
export type PostgresFault = (typeof POSTGRES_FAULTS)[number];

export type Fault = ProviderFault | ClientFault | RedisFault | PostgresFault;

export function isProviderFault(fault: Fault): fault is ProviderFault {
  return PROVIDER_FAULTS.some((other) => other === fault);
}

export function isClientFault(fault: Fault): fault is ClientFault {
  return CLIENT_FAULTS.some((other) => other === fault);
}

export function isRedisFault(fault: Fault): fault is RedisFault {
  return REDIS_FAULTS.some((other) => other === fault);
}

export function isPostgresFault(fault: Fault): fault is PostgresFault {
  return POSTGRES_FAULTS.some((other) => other === fault);
}

const FAULTS: readonly Fault[] = [...PROVIDER_FAULTS, ...CLIENT_FAULTS, ...REDIS_FAULTS, ...POSTGRES_FAULTS];

/** All cells: every host over HTTP/1.1, and some hosts over TLS, over HTTP/2 and on other releases of Node. */
export function listCells(): readonly Cell[] {
  const cells = HOSTS.flatMap((host) => cellsOf({ host, protocol: "http/1.1" }, FAULTS));
  const encrypted = (["TLS", "HTTP/2"] as const).flatMap((protocol) =>
    cellsOf({ host: "node:http", protocol }, PROVIDER_FAULTS),
  );
  const onReleases = ([22, 26] as const).flatMap((node) => [
    ...cellsOf({ host: "node:http", protocol: "http/1.1", node }, FAULTS),
    ...cellsOf({ host: "gateway.fetch", protocol: "http/1.1", node }, [...PROVIDER_FAULTS, ...CLIENT_FAULTS]),
    ...cellsOf({ host: "node:http", protocol: "HTTP/2", node }, PROVIDER_FAULTS),
  ]);
  return [...cells, ...encrypted, ...onReleases];
}

function cellsOf(where: Omit<Cell, "kind" | "fault">, faults: readonly Fault[]): Cell[] {
  return faults.flatMap((fault) =>
    KINDS.filter((kind) => fault !== "resets inside an event" || isStreamKind(kind)).map((kind) => ({
      ...where,
      kind,
      fault,
    })),
  );
}
