import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { EstimateQuery, ModelEntry } from "../../wire.js";
import { type Draft, EMPTY_DRAFT } from "./draft.js";
import { createRun, type Run, runRequest } from "./run.js";

/** A request that is to be sent. */
interface Order {
  readonly model: ModelEntry;
  readonly query: EstimateQuery;
  readonly asked: number;
  readonly pixels: string | undefined;
}

/** What Try holds: it stays while the person looks at another view, and requests go on. */
export interface Bench {
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
  /** The runs, the newest first. Those that were started together are one group. */
  readonly groups: readonly (readonly Run[])[];
  readonly isRunning: boolean;
  /** @param key the API key that pays */
  readonly start: (orders: readonly Order[], key: string | undefined) => void;
  readonly stop: () => void;
}

const MAX_GROUPS = 10;

/** Keeps the draft, which begins with an example, and the runs of this page. Old runs are forgotten, with their images. */
export function useBench(examplePrompt: string): Bench {
  const [draft, setDraft] = useState<Draft>({ ...EMPTY_DRAFT, prompt: examplePrompt });
  const [groups, setGroups] = useState<readonly (readonly Run[])[]>([]);
  const abort = useRef<AbortController | undefined>(undefined);
  const closed = useRef(new AbortController());
  const latest = useRef(groups);
  latest.current = groups;
  useEffect(
    () => () => {
      abort.current?.abort();
      closed.current.abort();
      forget(latest.current);
    },
    [],
  );
  const isRunning = useMemo(() => groups.flat().some(({ duration }) => duration === undefined), [groups]);
  const start: Bench["start"] = (orders, key) => {
    const controller = new AbortController();
    abort.current = controller;
    const runs = orders.map(({ query, asked, pixels }) => createRun(query, asked, pixels));
    forget(latest.current.slice(MAX_GROUPS - 1));
    setGroups((old) => [runs, ...old.slice(0, MAX_GROUPS - 1)]);
    for (const [index, { model, query }] of orders.entries()) {
      const run = runs[index];
      if (run === undefined) continue;
      const onChange = (change: Partial<Run>): void =>
        setGroups((old) =>
          old.map((group) => group.map((each) => (each.id === run.id ? { ...each, ...change } : each))),
        );
      const { signal } = controller;
      void runRequest(run, query, { model, key, signal, closed: closed.current.signal, onChange });
    }
  };
  return {
    draft,
    change: (part) => setDraft((old) => ({ ...old, ...part })),
    groups,
    isRunning,
    start,
    stop: () => abort.current?.abort(),
  };
}

function forget(groups: readonly (readonly Run[])[]): void {
  for (const { images } of groups.flat()) for (const { url } of images) URL.revokeObjectURL(url);
}
