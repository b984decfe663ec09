interface RefusalDetails {
  /** The provider's own code; its table of codes gives the status and, without a message, the message. */
  code: string;
  message?: string | undefined;
  /** The field that Ark names in `error.param`. */
  param?: string;
  /** Only where it differs from the provider's table. */
  status?: number | undefined;
  retryAfterSeconds?: number | undefined;
}

/** The provider says no. Thrown where the reason is found, rendered as the provider's error body in one place. */
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
