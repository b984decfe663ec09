import { GatewayError } from "@calotype/core";
import type { GatewayRequest } from "@calotype/core/adapter";
import { respondWithJson } from "../respond.js";
import type { SearchResult } from "../wire.js";
import { listStored, listUsers } from "./caller-list.js";
import { listModels } from "./list-models.js";
import type { ApiRoute, StudioGateway } from "./route.js";
import { findRequest } from "./usage.js";

/** How many callers and models a search returns. */
const MAX_RESULTS = 8;
/** How many pages of callers a search reads at most. Callers have no index of parts of their ids. */
const MAX_PAGES = 10;
const MAX_TEXT = 256;

export const SEARCH_ROUTES: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "search",
    role: "viewer",
    async run({ gateway }, { request, query }) {
      const text = (query.get("text") ?? "").trim();
      if (text.length > MAX_TEXT) {
        const message = `text must have at most ${MAX_TEXT} characters.`;
        throw new GatewayError("invalid_request_error", message, { param: "text" });
      }
      const [callers, models, found] = await Promise.all([
        findCallers(gateway, text),
        findModels(gateway, text, request.signal),
        text === "" ? undefined : findRequest(gateway, text),
      ]);
      const channels = gateway
        .status()
        .channels.map(({ id }) => id)
        .filter((id) => matches(id, text))
        .slice(0, MAX_RESULTS);
      const result: SearchResult = {
        callers,
        channels,
        models,
        ...(found !== undefined && { request: found }),
      };
      return respondWithJson(result);
    },
  },
];

/** The ids of callers that contain the text: those of the options, those created at run time, then signed-in users. */
async function findCallers(gateway: StudioGateway, text: string): Promise<readonly string[]> {
  const fixed = (await gateway.callers.fixed()).map(({ id }) => id);
  const found = new Set(fixed.filter((id) => matches(id, text)));
  for (const list of [
    async (after?: string) => toIds(await listStored(gateway, after)),
    async (after?: string) => toIds(await listUsers(gateway, after)),
  ]) {
    let after: string | undefined;
    for (let page = 0; page < MAX_PAGES && found.size < MAX_RESULTS; page++) {
      const { ids, next } = await list(after);
      for (const id of ids) if (matches(id, text)) found.add(id);
      after = next;
      if (after === undefined) break;
    }
  }
  return [...found].slice(0, MAX_RESULTS);
}

const toIds = (page: Awaited<ReturnType<typeof listStored | typeof listUsers>>) => {
  if (page === undefined) return { ids: [], next: undefined };
  const listed = "users" in page ? page.users : page.callers;
  return { ids: listed.map(({ id }) => id), next: page.next };
};

/** The names of models that contain the text. */
async function findModels(
  gateway: StudioGateway,
  text: string,
  signal: GatewayRequest["signal"],
): Promise<readonly string[]> {
  return (await listModels(gateway, signal))
    .map(({ id }) => id)
    .filter((id) => matches(id, text))
    .slice(0, MAX_RESULTS);
}

function matches(name: string, text: string): boolean {
  return name.toLowerCase().includes(text.toLowerCase());
}
