import { useEffect, useState } from "preact/hooks";
import { BASE } from "./api.js";

/** The views, in the order of the rail. */
export const VIEWS = ["try", "usage", "channels", "callers", "tasks", "prices"] as const;
export type View = (typeof VIEWS)[number];

/** What the address says: the view, and what is selected in it. */
export interface Place {
  readonly view: View | undefined;
  readonly query: URLSearchParams;
}

const CHANGED = "studio:place";

function readPlace(): Place {
  const [first = ""] = location.pathname.slice(BASE.length + 1).split("/");
  const view = first === "" ? "usage" : VIEWS.find((other) => other === first);
  return { view, query: new URLSearchParams(location.search) };
}

/** The address of a view. */
export function addressOf(view: View, query: Readonly<Record<string, string | undefined>> = {}): string {
  const set = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === "" ? [] : [[name, value]],
  );
  const search = new URLSearchParams(set).toString();
  return `${BASE}/${view}${search === "" ? "" : `?${search}`}`;
}

/** Goes to an address of the studio without loading the page again. */
export function go(address: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  dispatchEvent(new Event(CHANGED));
}

/** Follows the address, also back and forward. */
export function usePlace(): Place {
  const [place, setPlace] = useState(readPlace);
  useEffect(() => {
    const update = (): void => setPlace(readPlace());
    addEventListener("popstate", update);
    addEventListener(CHANGED, update);
    return () => {
      removeEventListener("popstate", update);
      removeEventListener(CHANGED, update);
    };
  }, []);
  return place;
}

/** Follows a link within the page, unless the person wants a new tab. */
export function followLink(event: MouseEvent & { readonly currentTarget: HTMLAnchorElement }): void {
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(event.currentTarget.href);
}
