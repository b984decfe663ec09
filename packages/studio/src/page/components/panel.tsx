import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useMessages } from "../messages/index.js";
import { focusView } from "./focus.js";
import { Icon } from "./icon.js";

/** What a panel shows. */
export interface PanelProps {
  /** Its name for screen readers, such as `Request req_1`. */
  readonly label: string;
  readonly title: string;
  /** What the title is short for. */
  readonly fullTitle?: string;
  /** Below the title. */
  readonly head?: ComponentChildren;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/**
 * Details beside a list, which stays in use. The panel takes the focus, and gives it back. Escape closes it. In a narrow window
 * it covers a part of the list, and closes if the focus goes there.
 */
export function Panel({ label, title, fullTitle, head, onClose, children }: PanelProps) {
  const messages = useMessages();
  const heading = useFocusWhileOpen();
  useEscape(onClose);
  useCloseWhenCovering(heading, onClose);
  return (
    <aside class="panel" aria-label={label}>
      <div class="panel-head">
        <div>
          <h2 ref={heading} tabIndex={-1} title={fullTitle}>
            {title}
          </h2>
          {head}
        </div>
        <button type="button" class="button" onClick={onClose}>
          <Icon name="close" />
          {messages.close}
        </button>
      </div>
      {children}
    </aside>
  );
}

/** Focuses the heading. At the end the element gets the focus again that had it before, unless the person has left the panel. */
function useFocusWhileOpen() {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const panel = heading.current?.closest("aside");
    const before = document.activeElement;
    heading.current?.focus({ preventScroll: true });
    return () => {
      const hasFocus = panel?.contains(document.activeElement) === true;
      if (!hasFocus && document.activeElement !== document.body) return;
      if (before instanceof HTMLElement && before.isConnected && before !== document.body) before.focus();
      else focusView();
    };
  }, []);
  return heading;
}

/** A person who goes on to something below the panel would not see where the focus is. */
function useCloseWhenCovering(heading: RefObject<HTMLElement | null>, onClose: () => void): void {
  const latest = useRef(onClose);
  latest.current = onClose;
  useEffect(() => {
    const panel = heading.current?.closest("aside");
    const check = ({ target }: FocusEvent): void => {
      if (!panel || !(target instanceof Element) || panel.contains(target)) return;
      if (target.closest(".shell") === null || getComputedStyle(panel).position !== "fixed") return;
      // The view itself has the focus while nothing in it does.
      if (target.contains(panel)) return;
      const [covering, covered] = [panel.getBoundingClientRect(), target.getBoundingClientRect()];
      if (covered.left >= covering.left && covered.right <= covering.right) latest.current();
    };
    addEventListener("focusin", check);
    return () => removeEventListener("focusin", check);
  }, [heading]);
}

/** Escape closes what is in front: a dialog before the panel. In a field beside the panel it belongs to the field. */
function useEscape(onClose: () => void): void {
  const latest = useRef(onClose);
  latest.current = onClose;
  useEffect(() => {
    const close = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      if (document.querySelector('[role="dialog"]') !== null) return;
      if (event.target instanceof Element && event.target.matches(":is(input, textarea):not(.panel *)"))
        return;
      latest.current();
    };
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  }, []);
}
