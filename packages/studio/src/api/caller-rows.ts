import type { Caller } from "@calotype/core";
import type { BudgetStatus } from "@calotype/core/billing";
import type { CallerInfo } from "@calotype/core/operator";
import type { CallerRow } from "../wire.js";
import type { ApiParts } from "./route.js";

/** A caller of the options, one that was created at run time, or a signed-in user. */
export type ListedCaller = Caller | CallerInfo | (Caller & { readonly state: "user" });

/** A caller and its budget. Only one of the two other fields is present. */
export interface BudgetedCaller {
  readonly caller: ListedCaller;
  readonly spent?: BudgetStatus;
  readonly budgetProblem?: string;
}

/** Describes a caller with its budget and its limits. */
export async function toRow(parts: ApiParts, caller: ListedCaller): Promise<CallerRow> {
  const [budgeted] = await addBudgets(parts, [caller]);
  return await addLimits(parts, budgeted ?? { caller });
}

/** Reads the budgets of many callers at once. Budgets that cannot be read must not hide the callers. */
export async function addBudgets(
  { gateway, logger }: Pick<ApiParts, "gateway" | "logger">,
  callers: readonly ListedCaller[],
): Promise<readonly BudgetedCaller[]> {
  try {
    const budgets = await gateway.budgets.readAll(callers);
    return callers.map((caller, index) => {
      const spent = budgets[index];
      return { caller, ...(spent !== undefined && { spent }) };
    });
  } catch (error) {
    // A TypeError is about the budget and the ledger. Any other error may name hosts and users of a database.
    if (!(error instanceof TypeError)) logger.error({ err: error }, "Budgets could not be read.");
    const budgetProblem =
      error instanceof TypeError
        ? error.message
        : "The budget cannot be read. The log of the server says why.";
    return callers.map((caller) => ({ caller, budgetProblem }));
  }
}

/** Adds how close the caller is to its limits. The gateway logs it if they cannot be read. */
export async function addLimits(
  { gateway }: Pick<ApiParts, "gateway">,
  { caller, spent, budgetProblem }: BudgetedCaller,
): Promise<CallerRow> {
  const { expiresAt, ...others } = caller;
  const share = spent && shareOf(spent);
  // The limits of a user are known only to the function of the app.
  const isUser = "state" in caller && caller.state === "user";
  const limitStates = isUser
    ? {}
    : await gateway.limits.read(caller).then(
        (limits) => ({ limitStates: limits ?? null }),
        () => ({}),
      );
  return {
    state: "fixed",
    ...others,
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
    ...(spent !== undefined && { spent }),
    ...(budgetProblem !== undefined && { budgetProblem }),
    ...(share !== undefined && { share }),
    ...limitStates,
  };
}

/**
 * The part of the budget that is charged or held. Only for sorting and for the width of a bar: amounts are exact decimals,
 * and this is not. `undefined` without a budget.
 */
export function shareOf({ settled, held, limit }: BudgetStatus): number | undefined {
  if (limit === undefined) return undefined;
  const whole = Number(limit);
  return whole === 0 ? 1 : (Number(settled) + Number(held)) / whole;
}
