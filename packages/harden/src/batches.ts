import type { Random } from "./grammar/draw.ts";
import type { Finding, PartContext } from "./part.ts";

/** How inputs are tried: many on one bench, which is closed when they are done. */
export interface Plan<Bench, Input> {
  /** Inputs that one bench gets. */
  readonly size: number;
  /** The figure that counts the inputs. */
  readonly figure: string;
  /** A gateway with everything around it. */
  open(): Promise<Bench>;
  /** The rule that an input breaks, if any. It may use chance to choose what else to check. */
  tryInput(bench: Bench, input: Input, random: Random): Promise<Finding<Input> | undefined>;
  /** Closes a bench. Returns the rule that is broken at the end, such as that all slots are free. */
  close(bench: Bench): Promise<string | undefined>;
}

/** Draws and tries inputs until the time is over. A bench is not used again after a finding. */
export async function runBatches<Bench, Input>(
  context: PartContext<Input>,
  plan: Plan<Bench, Input>,
  draw: () => Input | undefined,
): Promise<void> {
  let isExhausted = false;
  while (!isExhausted && !context.isOver()) {
    const bench = await plan.open();
    const tried: Input[] = [];
    while (tried.length < plan.size && !context.isOver()) {
      const input = draw();
      isExhausted = input === undefined;
      if (input === undefined) break;
      tried.push(input);
      context.begin(input);
      context.count(plan.figure);
      const found = await plan.tryInput(bench, input, context.random);
      if (found === undefined) continue;
      await context.report(found);
      break;
    }
    const rule = await plan.close(bench);
    if (rule !== undefined) await reportCulprit(context, plan, { tried, rule });
  }
}

/** Tries one input on a bench of its own. */
export async function replayAlone<Bench, Input>(
  context: PartContext<Input>,
  plan: Plan<Bench, Input>,
  input: Input,
): Promise<void> {
  const bench = await plan.open();
  const found = await plan.tryInput(bench, input, context.random);
  if (found !== undefined) await context.report(found);
  const rule = await plan.close(bench);
  if (rule !== undefined) await context.report({ rule, input });
}

/** Blames the input that alone has the same effect as the batch. */
async function reportCulprit<Bench, Input>(
  context: PartContext<Input>,
  plan: Plan<Bench, Input>,
  { tried, rule }: { readonly tried: readonly Input[]; readonly rule: string },
): Promise<void> {
  for (const input of tried.toReversed()) {
    const bench = await plan.open();
    await plan.tryInput(bench, input, context.random);
    if ((await plan.close(bench)) === rule) return context.report({ rule, input });
  }
  const [input] = tried.slice(-1);
  const seen = "No input of the batch does this alone: run the seed again.";
  if (input !== undefined) await context.report({ rule, input, seen });
}
