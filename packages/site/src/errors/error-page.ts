import type { ErrorCode } from "@calotype/core";

/** What the page of an error code says. Its status, type and headers come from the table of docs/errors.md. */
export interface ErrorPage {
  readonly means: string;
  /** The cases in which the code is sent. */
  readonly when: readonly string[];
  /** Whether the request cost money. */
  readonly charged: string;
  readonly client: string;
  readonly operator: string;
  /** A message that the gateway sends with this code. */
  readonly message: string;
  readonly param?: string;
}

/** One page for each of the codes. */
export type ErrorPages<Code extends ErrorCode> = Readonly<Record<Code, ErrorPage>>;

/** The two answers that most pages share. */
export const NOT_SENT = "No. Nothing was sent to a provider, and there is no usage record.";
export const REFUSED_UPSTREAM =
  "No. The provider refused the request before it made an image. The usage record has the charge 0.";
export const MAYBE_MADE =
  "The gateway charges nothing, or only the images that the provider reported or delivered. The provider may bill you for " +
  "images that no client received; [settlement](../settlement.md) has the tables.";
