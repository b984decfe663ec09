import type { Emulator } from "../emulator.js";

/** A response with its JSON body, which was not checked. */
export interface JsonResponse<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

interface Asked {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: object;
}

/** Sends a request with or without a JSON body, and reads the JSON of the response. */
export async function askJson<Body>(
  emulator: Emulator,
  url: string,
  { method = "GET", headers = {}, body }: Asked = {},
): Promise<JsonResponse<Body>> {
  const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
  const response = await emulator.fetch(url, init);
  return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) };
}
