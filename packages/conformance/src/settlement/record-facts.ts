import type { Usage, UsageRecord } from "@calotype/core";

/** What the rows say of a record; all from `status` on are of settled records only. */
export interface RecordFacts {
  readonly state: UsageRecord["state"];
  readonly images: number;
  readonly charge: string | null;
  readonly status?: number | undefined;
  readonly channel?: string | undefined;
  readonly usage?: Usage | undefined;
  readonly reportedUsage?: Usage | undefined;
  readonly errorCode?: string | undefined;
  readonly unpriced?: boolean | undefined;
}
