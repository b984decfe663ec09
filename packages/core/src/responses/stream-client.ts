import type { GatewayRequest } from "../http.js";

/** The client of a stream. Some hosts report its disconnect only by ending the body, so that counts too. */
export class StreamClient implements Pick<GatewayRequest, "signal">, Pick<AbortSignal, "aborted"> {
  readonly #request: Pick<GatewayRequest, "signal">;
  #hasLeft = false;

  constructor(request: Pick<GatewayRequest, "signal">) {
    this.#request = request;
  }

  get signal(): this {
    return this;
  }

  get aborted(): boolean {
    return this.#hasLeft || this.#request.signal.aborted;
  }

  leave(): void {
    this.#hasLeft = true;
  }
}
