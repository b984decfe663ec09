import { getGateway } from "../gateway.ts";

/** Calls the gateway of this process with the app's own key, which never reaches the browser. */
export function callGateway(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${process.env["CALOTYPE_API_KEY"] || "sk-local"}`);
  return getGateway().fetch(new Request(new URL(path, "http://localhost"), { ...init, headers }));
}
