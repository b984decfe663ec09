import { expect, it } from "vitest";
import { isRefusal, isTransient } from "./postgres-error.js";

it.each([
  ["a deadlock", { code: "40P01" }, "transient"],
  ["a collision", { code: "40001" }, "transient"],
  ["a server that ends", { code: "57P01" }, "transient"],
  ["a server that starts", { code: "57P03" }, "transient"],
  ["a lost connection", { code: "08006" }, "transient"],
  ["too many connections", { code: "53300" }, "transient"],
  ["a replica", { code: "25006" }, "transient"],
  ["a reset", { code: "ECONNRESET" }, "transient"],
  ["pg's message for a lost connection", { message: "Connection terminated unexpectedly" }, "transient"],
  ["a value too long", { code: "22001" }, "refusal"],
  ["a null", { code: "23502" }, "refusal"],
  ["a key too large for its index", { code: "54000" }, "refusal"],
  ["a missing table", { code: "42P01" }, "neither"],
  ["a missing right", { code: "42501" }, "neither"],
  ["a wrong password", { code: "28P01" }, "neither"],
  ["a full disk", { code: "53100" }, "neither"],
  ["a lock that was not available in time", { code: "55P03" }, "neither"],
  ["a statement that took too long", { code: "57014" }, "neither"],
  ["anything else", { message: "x is not a function" }, "neither"],
])("%s (%j) is %s", (_what, fields, kind) => {
  const error = Object.assign(new Error("failed"), fields);
  expect([isTransient(error), isRefusal(error)]).toEqual([kind === "transient", kind === "refusal"]);
});
