import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { en, type Messages } from "./en.js";
import { zh } from "./zh.js";

export type { Messages };

export const LANGUAGES = { en, zh } as const;
export type Language = keyof typeof LANGUAGES;

/** The language that the browser prefers. */
export function findLanguage(preferred: readonly string[] = navigator.languages): Language {
  for (const tag of preferred) {
    if (/^zh\b/i.test(tag)) return "zh";
    if (/^en\b/i.test(tag)) return "en";
  }
  return "en";
}

export const MessagesContext = createContext<Messages>(en);

/** The texts in the language of the person. */
export function useMessages(): Messages {
  return useContext(MessagesContext);
}
