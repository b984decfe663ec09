/** What one caller may do in a time. What is absent is not limited by it; `null` lifts a limit of the gateway. */
export interface CallerLimits {
  /** A whole number of at least 1. */
  readonly requestsPerMinute?: number | null | undefined;
  /** Counted before a request is sent, by the most images it may make. A whole number of at least 1. */
  readonly imagesPerMinute?: number | null | undefined;
  /** Requests at once; streams count until they end. A whole number of at least 1. */
  readonly concurrent?: number | null | undefined;
}
