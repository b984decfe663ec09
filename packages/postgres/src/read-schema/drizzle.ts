/*
 * The tables of @calotype/postgres that reports read, without columns that only the ledger uses. Generated from the
 * migrations. Copy this file into your app, and read with it: only the ledger may write. If your ledger has another schema, change
 * the name "calotype".
 */
import { bigint, integer, json, numeric, pgSchema, primaryKey, text, timestamp } from "drizzle-orm/pg-core";

const calotype = pgSchema("calotype");

export const balances = calotype.table(
  "balances",
  {
    caller: text("caller").notNull(),
    settled: numeric("settled").notNull(),
    held: numeric("held").notNull(),
    budget: numeric("budget"),
  },
  (table) => [primaryKey({ columns: [table.caller] })],
);

export const periodBalances = calotype.table(
  "period_balances",
  {
    caller: text("caller").notNull(),
    period: text("period").notNull(),
    settled: numeric("settled").notNull(),
    held: numeric("held").notNull(),
    budget: numeric("budget"),
  },
  (table) => [primaryKey({ columns: [table.caller, table.period] })],
);

export const records = calotype.table(
  "records",
  {
    id: text("id").notNull(),
    state: text("state").notNull(),
    time: timestamp("time", { withTimezone: true }).notNull(),
    caller: text("caller").notNull(),
    model: text("model").notNull(),
    channel: text("channel").notNull(),
    images: bigint("images", { mode: "bigint" }).notNull(),
    charge: numeric("charge"),
    record: json("record").notNull(),
    period: text("period"),
    outcome: text("outcome"),
    durationMs: integer("duration_ms"),
    tokens: bigint("tokens", { mode: "bigint" }),
    cost: numeric("cost"),
  },
  (table) => [primaryKey({ columns: [table.time, table.id] })],
);

export const hourlyTotals = calotype.table(
  "hourly_totals",
  {
    hour: timestamp("hour", { withTimezone: true }).notNull(),
    caller: text("caller").notNull(),
    model: text("model").notNull(),
    channel: text("channel").notNull(),
    requests: bigint("requests", { mode: "bigint" }).notNull(),
    refused: bigint("refused", { mode: "bigint" }).notNull(),
    failed: bigint("failed", { mode: "bigint" }).notNull(),
    unresolved: bigint("unresolved", { mode: "bigint" }).notNull(),
    released: bigint("released", { mode: "bigint" }).notNull(),
    images: bigint("images", { mode: "bigint" }).notNull(),
    charge: numeric("charge").notNull(),
    tokens: bigint("tokens", { mode: "bigint" }).notNull(),
    durationMs: bigint("duration_ms", { mode: "bigint" }).notNull(),
    duration0: integer("duration_0").notNull(),
    duration1: integer("duration_1").notNull(),
    duration2: integer("duration_2").notNull(),
    duration3: integer("duration_3").notNull(),
    duration4: integer("duration_4").notNull(),
    duration5: integer("duration_5").notNull(),
    duration6: integer("duration_6").notNull(),
    duration7: integer("duration_7").notNull(),
    duration8: integer("duration_8").notNull(),
    duration9: integer("duration_9").notNull(),
    duration10: integer("duration_10").notNull(),
    duration11: integer("duration_11").notNull(),
    duration12: integer("duration_12").notNull(),
    duration13: integer("duration_13").notNull(),
    duration14: integer("duration_14").notNull(),
    duration15: integer("duration_15").notNull(),
    duration16: integer("duration_16").notNull(),
    duration17: integer("duration_17").notNull(),
    duration18: integer("duration_18").notNull(),
    duration19: integer("duration_19").notNull(),
    duration20: integer("duration_20").notNull(),
    duration21: integer("duration_21").notNull(),
    duration22: integer("duration_22").notNull(),
    duration23: integer("duration_23").notNull(),
    duration24: integer("duration_24").notNull(),
    duration25: integer("duration_25").notNull(),
    duration26: integer("duration_26").notNull(),
    duration27: integer("duration_27").notNull(),
    duration28: integer("duration_28").notNull(),
    duration29: integer("duration_29").notNull(),
    duration30: integer("duration_30").notNull(),
    duration31: integer("duration_31").notNull(),
    duration32: integer("duration_32").notNull(),
    duration33: integer("duration_33").notNull(),
    costed: bigint("costed", { mode: "bigint" }).notNull(),
    cost: numeric("cost").notNull(),
    costedCharge: numeric("costed_charge").notNull(),
  },
  (table) => [primaryKey({ columns: [table.hour, table.caller, table.model, table.channel] })],
);

export const holds = calotype.table(
  "holds",
  {
    id: text("id").notNull(),
    caller: text("caller").notNull(),
    amount: numeric("amount"),
    hold: json("hold").notNull(),
    task: text("task"),
    period: text("period"),
  },
  (table) => [primaryKey({ columns: [table.id] })],
);

export const tasks = calotype.table(
  "tasks",
  {
    id: text("id").notNull(),
    sequence: bigint("sequence", { mode: "bigint" }).notNull(),
    requestId: text("request_id").notNull(),
    caller: text("caller").notNull(),
    model: text("model").notNull(),
    operation: text("operation").notNull(),
    status: text("status").notNull(),
    createdAt: timestamp("created_at", { withTimezone: true }).notNull(),
    endedAt: timestamp("ended_at", { withTimezone: true }),
    webhooks: text("webhooks").array().notNull(),
    images: text("images").array().notNull(),
    result: text("result"),
    error: text("error"),
  },
  (table) => [primaryKey({ columns: [table.id] })],
);

export const callers = calotype.table(
  "callers",
  {
    id: text("id").notNull(),
    settings: text("settings").notNull(),
    createdAt: timestamp("created_at", { withTimezone: true }).notNull(),
    changedAt: timestamp("changed_at", { withTimezone: true }).notNull(),
    revokedAt: timestamp("revoked_at", { withTimezone: true }),
  },
  (table) => [primaryKey({ columns: [table.id] })],
);

export const refusals = calotype.table(
  "refusals",
  {
    sequence: bigint("sequence", { mode: "bigint" }).notNull(),
    id: text("id").notNull(),
    caller: text("caller").notNull(),
    refusal: text("refusal").notNull(),
  },
  (table) => [primaryKey({ columns: [table.sequence] })],
);
