interface RefusalDetails {
  /** The provider's code. Its table of codes has the status, and the message if none is given. */
  code: string;
  message?: string | undefined;
  /** The field that Ark names in `error.param`. */
  param?: string;
  /** Only if it differs from the provider's table. */
  status?: number | undefined;
  retryAfterSeconds?: number | undefined;
}

/** A request that the provider refuses. `handle-call.ts` renders it as the error body of the provider. */
export class Refusal extends Error {
  readonly code: string;
  readonly param: string;
  readonly status: number | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(details: RefusalDetails) {
    super(details.message ?? "");
    this.name = "Refusal";
    this.code = details.code;
    this.param = details.param ?? "";
    this.status = details.status;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}
