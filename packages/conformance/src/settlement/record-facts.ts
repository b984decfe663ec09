import type { Usage, UsageRecord } from "@calotype/core";

/** What the rows say of a record; the last five of a settled one alone. */
export interface RecordFacts {
  readonly state: UsageRecord["state"];
  readonly images: number;
  readonly charge: string | null;
  readonly status?: number | undefined;
  readonly channel?: string | undefined;
  readonly usage?: Usage | undefined;
  readonly errorCode?: string | undefined;
  readonly unpriced?: boolean | undefined;
}
