interface RefusalDetails {
  /** The provider's code. Its table of codes has the status, and the message if none is given. */
  code: string;
  message?: string | undefined;
  /** The field that Ark and OpenAI name in `error.param`. */
  param?: string;
  /** Only if it differs from the provider's table. */
  status?: number | undefined;
  /** OpenAI's `error.type`, only if it differs from the provider's table. */
  type?: string | undefined;
  retryAfterSeconds?: number | undefined;
  /** Further headers of the response. */
  headers?: Readonly<Record<string, string>>;
}

/** A request that the provider refuses. `handle-call.ts` renders it as the error body of the provider. */
export class Refusal extends Error {
  readonly code: string;
  readonly param: string;
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(details: RefusalDetails) {
    super(details.message ?? "");
    this.name = "Refusal";
    this.code = details.code;
    this.param = details.param ?? "";
    this.status = details.status;
    this.type = details.type;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.headers = details.headers ?? {};
  }
}
