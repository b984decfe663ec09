import type { EntryFailure } from "../../billing/ledger.js";
import type { LedgerAbility } from "../../billing/ledger-ability.js";
import type { UsageRecord } from "../../billing/records.js";
import { checkDuration, checkOpaque } from "../../billing/stored-entries.js";
import type { BudgetAlert } from "../budgets/budget-store.js";
import type { Task } from "../task-store/task-store.js";
import type { Ledger } from "../usage/usage-reports.js";

/** What an outbox returns of each kind of entries. */
export interface OutboxEntries {
  /** Written in the transaction that ends a hold. */
  readonly record: UsageRecord;
  /** Written in the transaction of the charge that reached a threshold, once for each caller, period and threshold. */
  readonly alert: BudgetAlert;
  /** Written in the transaction in which a task ends, for each of its endpoints; or by {@link Outbox.addMessages}. */
  readonly message: WebhookEntry;
}

/** A kind of entries. */
export type OutboxKind = keyof OutboxEntries;

/** A message with what it is about: a task that has ended, or an alert. */
export interface WebhookEntry {
  readonly id: string;
  readonly message: WebhookMessage;
  readonly task?: Task | undefined;
  readonly alert?: BudgetAlert | undefined;
}

/** A message for one endpoint about the end of a task, or about a budget. */
export interface WebhookMessage {
  /** `msg_` and 32 hexadecimal digits; the same for each attempt. */
  readonly id: string;
  /** The id of the task. Absent if the message is about a budget. */
  readonly task?: string | undefined;
  /** The id of the alert about a budget. Absent if the message is about a task. */
  readonly alert?: string | undefined;
  /** The id of the caller. */
  readonly caller: string;
  /** The name of the endpoint. */
  readonly endpoint: string;
  /**
   * `waiting`: it is sent at `nextAt`. `delivered`: the endpoint accepted it. `given_up`: it was sent as often as it may be,
   * or its endpoint does not exist any more.
   */
  readonly state: "waiting" | "delivered" | "given_up";
  /** How often it was sent. */
  readonly attempts: number;
  /** When it is sent next, in milliseconds since 1970. */
  readonly nextAt: number;
  /** Why the last attempt failed. */
  readonly lastError?: string | undefined;
}

/** How an attempt to send a message ended. */
export type WebhookAttempt =
  | { readonly kind: "delivered" }
  /** `delayMs` is the time until the next attempt. */
  | { readonly kind: "retry"; readonly delayMs: number; readonly error: string }
  | { readonly kind: "given_up"; readonly error: string };

/** Selects messages; an absent field selects all. */
export interface WebhookFilter {
  readonly caller?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly task?: string | undefined;
  readonly state?: WebhookMessage["state"] | undefined;
}

/** An endpoint of a caller. */
export interface WebhookEndpointName {
  readonly caller: string;
  readonly endpoint: string;
}

/** Options of {@link Outbox.lease}. */
export interface LeaseOptions {
  /** The largest number of entries, at least 1. */
  readonly limit: number;
  /** An entry that was not ended by then is returned again, in milliseconds. */
  readonly leaseMs: number;
  /** Called for each record that cannot be read. It is left out, and tried again after the lease. */
  readonly onUnreadable?: ((failure: EntryFailure) => void) | undefined;
  /**
   * Endpoints whose messages are left alone, because they are busy: they must not delay the others. Without `endpoint`, those
   * of all endpoints of the caller. At most 1,000.
   */
  readonly except?:
    | readonly (Pick<WebhookEndpointName, "caller"> & Partial<WebhookEndpointName>)[]
    | undefined;
}

/** A message about an alert. */
export interface NewAlertMessage {
  /** `msg_` and 32 hexadecimal digits, the same each time for this alert and this endpoint. */
  readonly id: string;
  /** The name of the endpoint. */
  readonly endpoint: string;
}

/** An alert about a budget, and what became of it. */
export interface KnownAlert extends BudgetAlert {
  /**
   * `waiting`: its delivery, or that of one of its messages, has not ended. `given_up`: one of its messages was given up.
   * `delivered`: everyone who was to get it has it.
   */
  readonly state: WebhookMessage["state"];
}

/** Selects alerts; an absent field selects all. */
export interface AlertFilter {
  readonly caller?: string | undefined;
}

/**
 * What a ledger has to deliver: records to `onUsage`, alerts to `onBudget`, messages to webhook endpoints. Each entry is delivered
 * at least once. The ledgers in memory, of `@calotype/sqlite` and of `@calotype/postgres` have an outbox, as the member `outbox`.
 * The records are those of `MinimalLedger.takeUndelivered`.
 */
export interface Outbox {
  /**
   * Returns entries that are due, and leases them: during the lease no other call returns them. Records and alerts come in the order
   * in which they were stored; messages that wait longest come first. Messages for disabled endpoints are not returned.
   */
  lease<Kind extends OutboxKind>(kind: Kind, options: LeaseOptions): Promise<readonly OutboxEntries[Kind][]>;
  /**
   * Leases records as `lease` does, but in the order of each caller: a record is not returned while an earlier record of its caller is
   * leased. The records of a caller come in the order in which they were stored. Calls of several processes must not run at the
   * same time. At least the oldest 10,000 records are looked at.
   */
  leaseInOrder(options: Omit<LeaseOptions, "except">): Promise<readonly UsageRecord[]>;
  /** Ends the delivery of records, in these versions, or of alerts. An ended alert is kept for 30 days if there is `listAlerts`. */
  done<Kind extends "record" | "alert">(kind: Kind, entries: readonly OutboxEntries[Kind][]): Promise<void>;
  /**
   * Records an attempt to send a message. A message that was delivered stays `delivered`. One that was given up becomes
   * `delivered` if an attempt succeeded after all, and otherwise stays as it is.
   *
   * @throws RangeError for a delay below 0 or above ten years
   */
  finish(id: string, attempt: WebhookAttempt): Promise<void>;
  /** Writes messages about an alert, to be sent at once. Messages whose ids are known stay as they are. They are kept for 30 days. */
  addMessages(alert: BudgetAlert, messages: readonly NewAlertMessage[]): Promise<void>;
  /** Returns the alerts of the last 30 days, the newest first. Absent: alerts that were delivered are not kept. */
  listAlerts?(filter: AlertFilter, limit: number): Promise<readonly KnownAlert[]>;
  /** Returns messages, the newest first. */
  list(filter: WebhookFilter, limit: number): Promise<readonly WebhookMessage[]>;
  /** Makes messages wait again, also delivered ones, to be sent at once with a new series of attempts. Returns how many. */
  replay(filter: WebhookFilter): Promise<number>;
  /**
   * Stops sending to an endpoint, because it responded with 410, or allows it again. Its messages keep waiting, at most as
   * long as they are kept.
   */
  setDisabled(caller: string, endpoint: string, isDisabled: boolean): Promise<void>;
  /** The disabled endpoints. */
  listDisabled(): Promise<readonly WebhookEndpointName[]>;
  /**
   * Calls the listener when an alert or a message has become due, by this process and, if the store can tell, by others. Not
   * everything is reported: also look now and then. Returns the function that ends this. A listener must not throw.
   */
  watch(listener: (kind: "alert" | "message") => void): () => void;
}

/** A ledger with an outbox for all kinds of entries. */
export interface OutboxLedger extends Ledger {
  readonly outbox: Outbox;
}

/** Finds the outbox of a ledger. */
export const OUTBOX: LedgerAbility<Outbox> = {
  member: "outbox",
  methods: [
    "lease",
    "done",
    "finish",
    "addMessages",
    "list",
    "replay",
    "setDisabled",
    "listDisabled",
    "watch",
  ],
};

/** Finds an outbox that can keep the order of the records of each caller. */
export const RECORDS_IN_ORDER: LedgerAbility<Pick<Outbox, "leaseInOrder" | "done">> = {
  member: "outbox",
  methods: ["leaseInOrder", "done"],
};

/**
 * Checks the input of `Outbox.finish`.
 *
 * @throws RangeError that names the field
 */
export function checkWebhookAttempt(attempt: WebhookAttempt): void {
  if (attempt.kind === "retry") checkDuration(attempt.delayMs, "delayMs");
  if (attempt.kind !== "delivered") checkOpaque(attempt.error, "error");
}
