import type { Random } from "./grammar/draw.ts";
import type { Finding, PartContext } from "./part.ts";

/** How inputs are tried in batches: each fixture gets many inputs and is closed after them. */
export interface BatchPlan<Fixture, Input> {
  /** The number of inputs for one fixture. */
  readonly size: number;
  /** The name of the figure that counts the inputs. */
  readonly figure: string;
  /** Opens a gateway with its provider. */
  open(): Promise<Fixture>;
  /** Returns the rule that an input breaks, if any. It may draw which further rules it checks. */
  tryInput(fixture: Fixture, input: Input, random: Random): Promise<Finding<Input> | undefined>;
  /** Closes a fixture. Returns the rule that is broken at that time, such as: all slots are free. */
  close(fixture: Fixture): Promise<string | undefined>;
}

/** Draws and tries inputs until the time is over or `draw` returns `undefined`. A finding ends a batch. */
export async function runBatches<Fixture, Input>(
  context: PartContext<Input>,
  plan: BatchPlan<Fixture, Input>,
  draw: () => Input | undefined,
): Promise<void> {
  let isExhausted = false;
  while (!isExhausted && !context.isOver()) {
    const fixture = await plan.open();
    const tried: Input[] = [];
    while (tried.length < plan.size && !context.isOver()) {
      const input = draw();
      isExhausted = input === undefined;
      if (input === undefined) break;
      tried.push(input);
      context.begin(input);
      context.count(plan.figure);
      const found = await plan.tryInput(fixture, input, context.random);
      if (found === undefined) continue;
      await context.report(found);
      break;
    }
    const rule = await plan.close(fixture);
    if (rule !== undefined) await reportCause(context, plan, { tried, rule });
  }
}

/** Tries one input with a fixture of its own. */
export async function replayAlone<Fixture, Input>(
  context: PartContext<Input>,
  plan: BatchPlan<Fixture, Input>,
  input: Input,
): Promise<void> {
  const fixture = await plan.open();
  const found = await plan.tryInput(fixture, input, context.random);
  if (found !== undefined) await context.report(found);
  const rule = await plan.close(fixture);
  if (rule !== undefined) await context.report({ rule, input });
}

/** Reports the input of a batch that alone breaks the same rule, the last one first. */
async function reportCause<Fixture, Input>(
  context: PartContext<Input>,
  plan: BatchPlan<Fixture, Input>,
  { tried, rule }: { readonly tried: readonly Input[]; readonly rule: string },
): Promise<void> {
  for (const input of tried.toReversed()) {
    const fixture = await plan.open();
    await plan.tryInput(fixture, input, context.random);
    if ((await plan.close(fixture)) === rule) return context.report({ rule, input });
  }
  const input = tried.at(-1);
  const seen = "No input of the batch breaks the rule alone. Run the seed again.";
  if (input !== undefined) await context.report({ rule, input, seen });
}
