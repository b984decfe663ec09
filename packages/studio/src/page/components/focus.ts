import { useLayoutEffect, useRef } from "preact/hooks";

/** Moves the focus to the view, for those who read on from there. */
export function focusView(): void {
  document.getElementById("view")?.focus({ preventScroll: true });
}

/**
 * Returns a ref for an element that may go away while it has the focus, such as a button that is pressed once. Then the focus
 * goes to what `findNext` returns, or else to where the element was: the dialog, the panel, the view. Without it, browsers
 * move it to the beginning of the page.
 */
export function useNextFocus<E extends HTMLElement>(
  findNext?: (leaving: E) => HTMLElement | null | undefined,
) {
  const element = useRef<E>(null);
  const latest = useRef(findNext);
  latest.current = findNext;
  useLayoutEffect(() => {
    return () => {
      const leaving = element.current;
      if (leaving === null || !leaving.contains(document.activeElement)) return;
      const next =
        latest.current?.(leaving) ??
        leaving.closest<HTMLElement>('[role="dialog"]') ??
        leaving.closest(".panel")?.querySelector<HTMLElement>("h2");
      if (next) next.focus({ preventScroll: true });
      else focusView();
    };
  }, []);
  return element;
}

/** Returns a ref for a form. After each new error of the server, its first wrong field gets the focus. */
export function useFocusOnProblem(error: unknown) {
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => {
    if (error !== undefined) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [error]);
  return form;
}
