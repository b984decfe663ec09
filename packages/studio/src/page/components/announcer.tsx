import { useEffect, useState } from "preact/hooks";

const SAID = "studio:said";

/** Tells screen readers what has happened, if nothing that they read does. */
export function announce(text: string): void {
  dispatchEvent(new CustomEvent(SAID, { detail: text }));
}

/** The place where {@link announce} writes. */
export function Announcer() {
  const [text, setText] = useState("");
  useEffect(() => {
    const say = (event: Event): void => {
      if (event instanceof CustomEvent) setText(String(event.detail));
    };
    addEventListener(SAID, say);
    return () => removeEventListener(SAID, say);
  }, []);
  return (
    <p class="hidden-text announcer" role="status">
      {text}
    </p>
  );
}
