import type { ReadResponse } from "../../support/http-client.js";
import { ClientError, type Connection, decodeBase64, download } from "./client.js";

/** An element of `data`, as far as clients read it. */
export interface Item {
  readonly b64_json?: string | null;
  readonly url?: string | null;
}

/** `data` of a response. Throws an error as openai-python reports it if the status is one. */
export function readItems(response: ReadResponse): readonly Item[] {
  throwIfRefused(response);
  const body: { readonly data: readonly Item[] } = JSON.parse(response.text);
  return body.data;
}

/** The names of a list of models. */
export function readNames(response: ReadResponse): readonly string[] {
  throwIfRefused(response);
  const body: { readonly data: readonly { readonly id: string }[] } = JSON.parse(response.text);
  return body.data.map(({ id }) => id);
}

export function throwIfRefused({ status, text }: ReadResponse): void {
  if (status >= 400) throw new ClientError(`Error code: ${status} - ${text}`);
}

/** What most clients do with an element: they decode its base64, or else they download its link without a key. */
export async function openItem(connection: Connection, { b64_json, url }: Item): Promise<Uint8Array> {
  if (b64_json) return decodeBase64(b64_json);
  if (url) return (await download(connection, url)).bytes;
  throw new ClientError("The element has neither b64_json nor url.");
}

/** All elements, in the way of {@link openItem}. */
export function openItems(connection: Connection, items: readonly Item[]): Promise<readonly Uint8Array[]> {
  return Promise.all(items.map((item) => openItem(connection, item)));
}
