/** Something that happens at one moment between its beginning and its end. */
export interface Happening {
  /** For the message about a cycle. */
  readonly label: string;
  readonly begin: number;
  /** Infinity if it is unknown. */
  readonly end: number;
}

/** What must happen before what. */
export interface Precedence {
  /** @param why for the message about a cycle */
  add(before: Happening, after: Happening, why: string): void;
  /** A description of one short cycle in each set of happenings that precede each other. Empty if there is a serial order. */
  findCycles(): readonly string[];
}

interface Edge {
  readonly to: Node;
  readonly why: string;
}

interface Node {
  /** `undefined` for a moment. */
  readonly label: string | undefined;
  readonly edges: Edge[];
}

/**
 * Collects what must happen before what. Something that ended before something else began comes first, too. For that, each end is a
 * moment, and the moments are in a line: so there are not as many edges as pairs.
 */
export function createPrecedence(): Precedence {
  const nodes = new Map<Happening, Node>();
  const nodeOf = (happening: Happening): Node => {
    const known = nodes.get(happening);
    if (known !== undefined) return known;
    const node: Node = { label: happening.label, edges: [] };
    nodes.set(happening, node);
    return node;
  };
  return {
    add: (before, after, why) => void nodeOf(before).edges.push({ to: nodeOf(after), why }),
    findCycles: () => {
      const all = withMoments(nodes);
      return findComponents(all)
        .filter((component) => component.size > 1)
        .map((component) => describeCycle(component));
    },
  };
}

/** Adds the moments. */
function withMoments(nodes: ReadonlyMap<Happening, Node>): readonly Node[] {
  const ended = [...nodes].filter(([{ end }]) => end !== Number.POSITIVE_INFINITY);
  const ends = ended.toSorted(([one], [other]) => one.end - other.end);
  const moments = ends.map(([{ end }, node]) => {
    const moment: Node = { label: undefined, edges: [] };
    node.edges.push({ to: moment, why: "ended before" });
    return { end, moment };
  });
  for (const [at, { moment }] of moments.entries()) {
    const next = moments[at + 1];
    if (next !== undefined) moment.edges.push({ to: next.moment, why: "" });
  }
  for (const [{ begin }, node] of nodes) {
    const last = moments.findLast(({ end }) => end < begin);
    last?.moment.edges.push({ to: node, why: "" });
  }
  return [...nodes.values(), ...moments.map(({ moment }) => moment)];
}

/** The sets of nodes that lead to each other (Tarjan), without recursion, because a line of moments is long. */
function findComponents(nodes: readonly Node[]): readonly ReadonlySet<Node>[] {
  const numbers = new Map<Node, number>();
  const lowest = new Map<Node, number>();
  const components: Set<Node>[] = [];
  const path: Node[] = [];
  const onPath = new Set<Node>();
  const lower = (node: Node, number: number): void =>
    void lowest.set(node, Math.min(lowest.get(node) ?? number, number));
  const enter = (node: Node): { readonly node: Node; edge: number } => {
    numbers.set(node, numbers.size);
    lower(node, numbers.size - 1);
    path.push(node);
    onPath.add(node);
    return { node, edge: 0 };
  };
  for (const root of nodes) {
    if (numbers.has(root)) continue;
    const visits = [enter(root)];
    for (let visit = visits.at(-1); visit !== undefined; visit = visits.at(-1)) {
      const { node } = visit;
      const next = node.edges[visit.edge]?.to;
      visit.edge += 1;
      if (next !== undefined) {
        const number = numbers.get(next);
        if (number === undefined) visits.push(enter(next));
        else if (onPath.has(next)) lower(node, number);
        continue;
      }
      visits.pop();
      const low = lowest.get(node) ?? 0;
      const parent = visits.at(-1);
      if (parent !== undefined) lower(parent.node, low);
      if (low !== numbers.get(node)) continue;
      const component = new Set(path.splice(path.indexOf(node)));
      for (const member of component) onPath.delete(member);
      components.push(component);
    }
  }
  return components;
}

/** A short cycle through the first node of a component that is not a moment. */
function describeCycle(component: ReadonlySet<Node>): string {
  const start = [...component].find(({ label }) => label !== undefined);
  if (start === undefined) throw new TypeError("Moments alone have no cycle.");
  const cameBy = new Map<Node, { readonly from: Node; readonly why: string }>();
  const queue: Node[] = [start];
  for (let node = queue.shift(); node !== undefined && !cameBy.has(start); node = queue.shift()) {
    for (const { to, why } of node.edges) {
      if (!component.has(to) || cameBy.has(to)) continue;
      cameBy.set(to, { from: node, why });
      queue.push(to);
    }
  }
  const lines: string[] = [];
  let node = start;
  do {
    const step = cameBy.get(node);
    if (step === undefined) throw new TypeError("A component has a cycle.");
    if (node.label !== undefined) lines.unshift(`  ${step.why || "ended before"} ${node.label}`);
    node = step.from;
  } while (node !== start);
  return `Calls precede each other in a cycle: ${start.label}\n${lines.join("\n")}`;
}
