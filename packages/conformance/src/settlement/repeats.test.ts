import { describe, expect, it } from "vitest";
import { isFull } from "../support/test-run.js";
import { repeatCall } from "./clients.js";
import { toCases } from "./describe-cases.js";
import { playCase } from "./observe-case.js";
import { repeatOf } from "./row.js";
import { GROUPS } from "./rows.js";
import { startCase } from "./start-case.js";
import { isNative } from "./ways.js";

const KEY = { "idempotency-key": "one" };

/** Without the rows that close the gateway, because a closed gateway accepts no repeat. */
const groups = GROUPS.map(({ title, rows }) => ({
  title,
  cases: rows
    .filter(({ closed }) => closed === undefined)
    .flatMap(toCases)
    .filter(({ pricing }) => pricing === "image")
    // A repeat has the endpoint of its request.
    .filter(({ way }) => !isNative(way) || isFull()),
})).filter(({ cases }) => cases.length > 0);

describe.concurrent.each(groups)("a repeat with the same idempotency key. $title", ({ cases }) => {
  it.each(cases)("$row.happened $row.detail ($way)", async (played) => {
    const started = await startCase(played);
    try {
      const call = await playCase(played, started, KEY);
      expect(await repeatCall(started.url, call)).toBe(repeatOf(played.row));
    } finally {
      await started.close();
    }
  });
});
