import { useLayoutEffect, useState } from "preact/hooks";

/** What this browser remembers. Storage may be blocked; then nothing is remembered. */
export function readStored(
  name: string,
  storage: Storage | undefined = findStorage("localStorage"),
): string | null {
  return storage?.getItem(`calotype-studio:${name}`) ?? null;
}

export function writeStored(
  name: string,
  value: string | undefined,
  storage: Storage | undefined = findStorage("localStorage"),
): void {
  try {
    if (value === undefined) storage?.removeItem(`calotype-studio:${name}`);
    else storage?.setItem(`calotype-studio:${name}`, value);
  } catch {
    // The storage is full or blocked: the page works without it.
  }
}

export function findStorage(kind: "localStorage" | "sessionStorage"): Storage | undefined {
  try {
    return globalThis[kind];
  } catch {
    // Browsers throw here if the person has blocked storage.
    return undefined;
  }
}

export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

/** The theme: that of the system, unless the person has chosen another. */
export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(
    () => THEMES.find((other) => other === readStored("theme")) ?? "auto",
  );
  // Before the first paint: the page must not appear in the other theme first.
  useLayoutEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
    writeStored("theme", theme === "auto" ? undefined : theme);
  }, [theme]);
  return [theme, setTheme];
}
