/** A step of an object that happens at one moment between its beginning and its end. */
export interface OrderStep<State> {
  /** For the message if no order is found. */
  readonly label: string;
  readonly begin: number;
  /** The step has happened by then, if it is sure. Otherwise it has happened by then or never does. May be infinite. */
  readonly end: number;
  /** False if the step may also never happen. */
  readonly isSure: boolean;
  /** True if the step changes nothing in any state. */
  readonly isRead?: boolean;
  /** Steps that are not sure and do the same are tried in the order in which they begin. Absent: no other step does the same. */
  readonly does?: string;
  /**
   * The state after the step. The same object if nothing changes. `undefined` if the step cannot happen in this state with the
   * result that was seen.
   */
  readonly apply: (state: State) => State | undefined;
}

/** Whether there is an order of the steps that explains all results. */
export type Search =
  | { readonly kind: "found" }
  /** `at` is the step that no order explains, and `why` has the states before it. */
  | { readonly kind: "impossible"; readonly at: string; readonly why: string }
  /** The search took too long. */
  | { readonly kind: "undecided" };

/** A state that the steps so far may have led to, and the open steps that have happened already. */
interface OrderPlace<State> {
  readonly state: State;
  readonly done: ReadonlySet<OrderStep<State>>;
}

/** The largest number of places that one step may be reached from. */
const MOST_PLACES = 100_000;

/**
 * Looks for an order of steps in which each happens between its beginning and its end (linearizability). A step is put into the
 * order at its end, together with the open steps that must happen before it (Lowe, "Testing for linearizability", 2017). Places
 * that differ in nothing are one place.
 */
export function findOrder<State>(
  steps: readonly OrderStep<State>[],
  initial: State,
  toKey: (state: State) => string,
): Search {
  const events = steps
    .flatMap((step) => [
      { step, time: step.begin, isEnd: false },
      ...(step.end === Number.POSITIVE_INFINITY ? [] : [{ step, time: step.end, isEnd: true }]),
    ])
    // At the same time, a step begins before another one ends, so that both orders are tried.
    .toSorted((one, other) => one.time - other.time || Number(one.isEnd) - Number(other.isEnd));
  const numbers = new Map(steps.map((step, at) => [step, at]));
  const keyOf = ({ state, done }: OrderPlace<State>): string => {
    const taken = Array.from(done, (step) => numbers.get(step) ?? -1).toSorted((a, b) => a - b);
    return `${toKey(state)} ${taken.join(" ")}`;
  };
  const open = new Set<OrderStep<State>>();
  let places: readonly OrderPlace<State>[] = [{ state: initial, done: new Set() }];
  for (const { step, isEnd } of events) {
    if (!isEnd) {
      open.add(step);
      continue;
    }
    const next = step.isSure ? reach(places, step, open, keyOf) : places;
    if (next === undefined) return { kind: "undecided" };
    if (next.length === 0) {
      const states = new Set(places.slice(0, 5).map(({ state }) => toKey(state)));
      return { kind: "impossible", at: step.label, why: [...states].join("\nor ") };
    }
    open.delete(step);
    places = withoutEqual(
      next.map((place) => ({ state: place.state, done: without(place.done, step) })),
      keyOf,
    );
  }
  return { kind: "found" };
}

/** The places at which the step has just happened. `undefined` if there are too many. */
function reach<State>(
  from: readonly OrderPlace<State>[],
  step: OrderStep<State>,
  open: ReadonlySet<OrderStep<State>>,
  keyOf: (place: OrderPlace<State>) => string,
): readonly OrderPlace<State>[] | undefined {
  const seen = new Set<string>();
  const reached: OrderPlace<State>[] = [];
  const waiting = [...from];
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    const { state } = place;
    const possible = findPossible(place, open);
    // A read that is possible is best done at once. A write that changes nothing now may change something later.
    const reads = possible.filter(([other]) => other.isRead === true && other.isSure);
    const done = reads.length === 0 ? place.done : new Set([...place.done, ...reads.map(([read]) => read)]);
    if (done.has(step)) {
      reached.push({ state, done });
      continue;
    }
    for (const [other, after] of possible) {
      if (after === state && (other.isRead === true || !other.isSure)) continue;
      const next = { state: after, done: new Set(done).add(other) };
      const key = keyOf(next);
      if (seen.has(key)) continue;
      seen.add(key);
      if (seen.size > MOST_PLACES) return undefined;
      if (other === step) reached.push(next);
      else waiting.push(next);
    }
  }
  return reached;
}

/** The open steps that may happen next, with the states after them. */
function findPossible<State>(
  { state, done }: OrderPlace<State>,
  open: ReadonlySet<OrderStep<State>>,
): (readonly [OrderStep<State>, State])[] {
  const tried = new Set<string>();
  return [...open].flatMap((step) => {
    if (done.has(step)) return [];
    if (step.does !== undefined && !step.isSure) {
      if (tried.has(step.does)) return [];
      tried.add(step.does);
    }
    const after = step.apply(state);
    return after === undefined ? [] : [[step, after] as const];
  });
}

function without<T>(set: ReadonlySet<T>, item: T): ReadonlySet<T> {
  const rest = new Set(set);
  rest.delete(item);
  return rest;
}

function withoutEqual<State>(
  places: readonly OrderPlace<State>[],
  keyOf: (place: OrderPlace<State>) => string,
): readonly OrderPlace<State>[] {
  return [...new Map(places.map((place) => [keyOf(place), place])).values()];
}
