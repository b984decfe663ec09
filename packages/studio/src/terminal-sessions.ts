import { equalsInConstantTime, type GatewayRequest, type GatewayResponse } from "@calotype/core/adapter";
import { isLocalHost, readHosts } from "./local-request.js";
import { refuse } from "./refused-page.js";
import { respond } from "./respond.js";

/**
 * Sessions of browsers whose person can read the terminal of the process: a link that is printed there opens one. They exist in
 * this process only, so a restart ends them.
 */
export interface TerminalSessions {
  /** Prints the link to a page of the studio, such as `http://localhost:8787/studio`. */
  printLink(url: string): void;
  /**
   * Returns the response to a request that may go no further: one without a session, or one whose address has the secret of a
   * link. Returns `undefined` for a request of a session.
   */
  check(request: GatewayRequest, target: SessionTarget): GatewayResponse | undefined;
}

/** What a request asks for. */
export interface SessionTarget {
  /** The path at which the studio is mounted. The session is valid there only. */
  readonly base: string;
  /** The path below it, without a query. */
  readonly below: string;
  /** A view opens sessions and has links printed. The API and files do neither. */
  readonly kind: "view" | "file" | "api";
}

const LINK_MS = 600_000;
/** The same link is printed again after this time, if a page is opened without a session. */
const PRINT_AGAIN_MS = 10_000;
const SESSION_MS = 86_400_000;
/** With one more, the oldest one ends. */
const MAX_SESSIONS = 20;
const TOKEN = "token";
const COOKIE = "calotype_studio";

interface Link {
  readonly token: string;
  readonly expiresAt: number;
  printedAt: number;
}

interface BrowserSession {
  readonly secret: string;
  readonly base: string;
  readonly expiresAt: number;
}

/** Creates the sessions of a studio. */
export function createTerminalSessions(): TerminalSessions {
  let link: Link | undefined;
  let sessions: readonly BrowserSession[] = [];

  /** There is one link at a time, so that nobody can make the link invalid that a person is about to open. */
  const findLink = (now: number): Link => {
    if (link === undefined || now >= link.expiresAt) {
      link = { token: createSecret(), expiresAt: now + LINK_MS, printedAt: Number.NEGATIVE_INFINITY };
    }
    return link;
  };

  const print = (url: string, now: number): void => {
    const current = findLink(now);
    current.printedAt = now;
    const until = new Date(current.expiresAt).toTimeString().slice(0, 8);
    const separator = url.includes("?") ? "&" : "?";
    writeToTerminal(`The studio: ${url}${separator}${TOKEN}=${current.token} (works once, until ${until})`);
  };

  const open = (base: string, token: string, now: number): string | undefined => {
    if (link === undefined || now >= link.expiresAt || !equalsInConstantTime(token, link.token))
      return undefined;
    link = undefined;
    const opened: BrowserSession = { secret: createSecret(), base, expiresAt: now + SESSION_MS };
    sessions = [...sessions.filter(({ expiresAt }) => now < expiresAt), opened].slice(-MAX_SESSIONS);
    return opened.secret;
  };

  const hasSession = (request: GatewayRequest, base: string, now: number): boolean => {
    const sent = readCookies(request, toCookieName(request));
    return sessions.some(
      (session) =>
        session.base === base &&
        now < session.expiresAt &&
        sent.some((secret) => equalsInConstantTime(secret, session.secret)),
    );
  };

  return {
    printLink: (url) => print(url, Date.now()),
    check(request, { base, below, kind }) {
      const now = Date.now();
      const { token, query } = readToken(request.url);
      const isView = kind === "view" && request.method === "GET";
      if (isView && token !== null) {
        const secret = open(base, token, now);
        const cookie = secret === undefined ? undefined : toCookie(request, base, secret);
        if (cookie !== undefined || hasSession(request, base, now)) {
          return redirect(base + below + query, cookie);
        }
      } else if (hasSession(request, base, now)) return undefined;
      if (isView && isNavigation(request) && now - findLink(now).printedAt >= PRINT_AGAIN_MS) {
        print(toOrigin(request) + base + toPrintable(below, query), now);
      }
      return refuse("no-session", { isApi: kind === "api", path: base });
    },
  };
}

/** The token of an address, and its query without the token. */
function readToken(url: string): { readonly token: string | null; readonly query: string } {
  const start = url.indexOf("?");
  const fields = new URLSearchParams(start === -1 ? "" : url.slice(start + 1).replace(/#.*$/s, ""));
  const token = fields.get(TOKEN);
  fields.delete(TOKEN);
  return { token, query: fields.size === 0 ? "" : `?${fields.toString()}` };
}

/** Removes the token from the address, so that it is not in the history of the browser and is not sent on. */
function redirect(location: string, cookie: string | undefined): GatewayResponse {
  return respond(303, "", { location, ...(cookie !== undefined && { "set-cookie": cookie }) });
}

function toCookie(request: GatewayRequest, base: string, secret: string): string {
  const isEncrypted = request.isEncrypted === true || /^https:/i.test(request.url);
  const secure = isEncrypted ? "; Secure" : "";
  return `${toCookieName(request)}=${secret}; Path=${base}; HttpOnly; SameSite=Strict${secure}`;
}

/** Browsers send cookies to all ports of a host. With the port in the name, two apps do not replace each other's cookie. */
function toCookieName(request: GatewayRequest): string {
  const port = /:(\d{1,5})$/.exec(readHosts(request).at(-1) ?? "")?.[1];
  return port === undefined ? COOKIE : `${COOKIE}_${port}`;
}

/** All values of a cookie. Browsers send several if studios are mounted below each other. */
function readCookies({ headers }: GatewayRequest, name: string): readonly string[] {
  const pairs = (headers.get("cookie") ?? "").split(";").map((pair) => pair.trim());
  return pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
}

/** Whether a person may have opened the page. Browsers say so if it is a page of another site that loads it. */
function isNavigation({ headers }: GatewayRequest): boolean {
  return (headers.get("sec-fetch-dest") ?? "document") === "document";
}

/** Without characters that a terminal would interpret. Those of the query are encoded. */
function toPrintable(below: string, query: string): string {
  return /^[\w/.~-]{0,100}$/.test(below) && query.length <= 200 ? below + query : "";
}

/** The origin of the link. It must not lead to another machine, and a client chooses `Host`. */
function toOrigin(request: GatewayRequest): string {
  const host = readHosts(request).at(-1) ?? "";
  const isEncrypted = request.isEncrypted === true || /^https:/i.test(request.url);
  return isLocalHost(host) ? `${isEncrypted ? "https" : "http"}://${host}` : "";
}

/** 256 random bits. */
function createSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Not through the logger, and not through the console, whose lines other programs may collect. */
function writeToTerminal(line: string): void {
  const stderr = globalThis.process?.stderr;
  if (typeof stderr?.write === "function") stderr.write(`${line}\n`);
  // oxlint-disable-next-line no-console -- Workers have no other way to the terminal
  else globalThis.console.error(line);
}
