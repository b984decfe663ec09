import type { ClientSignal, GatewayRequest } from "../http.js";

/** The client of a stream. Some hosts report its disconnect only by ending the body, so that counts too. */
export class StreamClient implements Pick<GatewayRequest, "signal">, ClientSignal {
  readonly #request: Pick<GatewayRequest, "signal">;
  readonly #listeners = new Set<() => void>();
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

  addEventListener(type: "abort", listener: () => void): void {
    this.#listeners.add(listener);
    this.#request.signal.addEventListener?.(type, listener);
  }

  removeEventListener(type: "abort", listener: () => void): void {
    this.#listeners.delete(listener);
    this.#request.signal.removeEventListener?.(type, listener);
  }

  leave(): void {
    this.#hasLeft = true;
    for (const listener of this.#listeners) listener();
  }
}
