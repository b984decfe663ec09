/** The cookies of a browser, for one server. */
export class CookieJar {
  readonly #cookies = new Map<string, string>();

  /** The value of the header `cookie`. */
  get header(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  /** Sends a request of a page of the server, and keeps the cookies of the response. */
  async send(url: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("origin", new URL(url).origin);
    headers.set("sec-fetch-site", "same-origin");
    if (this.#cookies.size > 0) headers.set("cookie", this.header);
    const response = await fetch(url, { ...init, headers, redirect: "manual" });
    for (const cookie of response.headers.getSetCookie()) this.#keep(cookie);
    return response;
  }

  #keep(cookie: string): void {
    const [, name = "", value = "", attributes = ""] = /^([^=]+)=([^;]*)(.*)$/.exec(cookie) ?? [];
    const isOver = value === "" || /max-age=0\b|expires=[^;]*1970/i.test(attributes);
    if (isOver) this.#cookies.delete(name);
    else this.#cookies.set(name, value);
  }
}
