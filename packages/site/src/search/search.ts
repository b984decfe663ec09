// The search of the site: an index of sections, what a query finds in it, and an excerpt of each hit. Runs in the browser and in
// the tests.
import MiniSearch, { type SearchResult } from "minisearch";

/** A part of a page below one heading. */
export interface Section {
  /** The path on the web and the anchor: `pricing#charges`. */
  readonly id: string;
  readonly title: string;
  /** The title of the page. */
  readonly page: string;
  /** The titles of the page and of the headings above, as they are shown. Empty for the beginning of a page. */
  readonly above: string;
  /** The text without marks. */
  readonly text: string;
  /** The questions that this section answers, from the table of all pages. */
  readonly questions: string;
}

/** A section that was found. */
export interface Hit extends Section {
  /** A part of the text around the words of the query, cut into pieces. The pieces with the words are marked. */
  readonly excerpt: readonly { readonly text: string; readonly isMarked: boolean }[];
}

/** An index that sections are added to. */
export interface Index {
  readonly mini: MiniSearch<Section>;
  readonly sections: Map<string, Section>;
}

export function createIndex(): Index {
  const mini = new MiniSearch<Section>({
    fields: ["title", "questions", "above", "text"],
    tokenize,
    processTerm,
  });
  return { mini, sections: new Map() };
}

export function addSections({ mini, sections }: Index, added: readonly Section[]): void {
  mini.addAll(added);
  for (const section of added) sections.set(section.id, section);
}

/** At most so many sections of one page, so that other pages are seen. */
const PER_PAGE = 3;
const MAX_HITS = 20;

/** Finds the best sections. A section with all words of the query comes before one with some of them. */
export function search({ mini, sections }: Index, query: string): Hit[] {
  const words = [...new Set(tokenize(query).map(processTerm))].filter((word) => word !== null);
  if (words.length === 0) return [];
  const results = mini.search(query, {
    prefix: (term) => term.length > 2 && !/\d/.test(term),
    fuzzy,
    boost: { title: 4, questions: 4, above: 1.5, text: 1 },
    boostDocument,
  });
  const score = (result: SearchResult): number =>
    result.score * (new Set(result.queryTerms).size / words.length) ** 3;
  const counts = new Map<string, number>();
  const hits: Hit[] = [];
  for (const result of results.toSorted((a, b) => score(b) - score(a))) {
    const section = sections.get(String(result.id));
    if (section === undefined) continue;
    const [page = ""] = section.id.split("#");
    const count = counts.get(page) ?? 0;
    counts.set(page, count + 1);
    if (count >= PER_PAGE) continue;
    hits.push({ ...section, excerpt: cutExcerpt(section.text, result.terms) });
    if (hits.length === MAX_HITS) break;
  }
  return hits;
}

/** Chinese is cut into words by the browser's own rules. A name with underscores is one word, and also each of its parts. */
function tokenize(text: string): string[] {
  return text
    .split(/[\s\p{P}\p{S}]+/u)
    .flatMap((part) => (/\p{Script=Han}/u.test(part) ? [...cutChinese(part)] : [part]))
    .filter((part) => part !== "")
    .concat(text.match(/\w+_\w+/g) ?? []);
}

const SEGMENTER = new Intl.Segmenter("zh", { granularity: "word" });

function* cutChinese(text: string): Generator<string> {
  for (const { segment } of SEGMENTER.segment(text)) yield segment;
}

const WITHOUT_MEANING =
  /^(?:an?|and|are|as|at|be|by|can|do|does|for|from|get|how|i|if|in|is|it|its|make|me|my|of|on|or|our|that|the|their|this|to|use|we|what|when|where|which|who|why|with|without|you|your)$/;

/** A word as it is searched for, in the singular, or `null` if it says nothing about a page. */
function processTerm(term: string): string | null {
  const word = term.toLowerCase();
  if (WITHOUT_MEANING.test(word)) return null;
  return /[a-z]{3}s$/.test(word) && !/(?:ss|us|is|os)s?$/.test(word) ? word.replace(/s$/, "") : word;
}

/** Similar spellings are found for long words, and never for numbers: 429 is not 409. */
function fuzzy(term: string): number | false {
  return term.length > 5 && !/\d/.test(term) ? 0.2 : false;
}

/** Pages that explain come before lists of names, records of decisions, and tables of measurements. */
function boostDocument(id: string): number {
  if (/^(?:reference|decisions)\/|^(?:changelog|contributing|performance|hardening|settlement)\b/.test(id))
    return 0.25;
  if (/^(?:packages|examples)\/|^reference-|^models\b/.test(id)) return 0.6;
  return id.includes("#") ? 1 : 1.7;
}

/** A word at its beginning, so that "price" is not marked in "reprice". Chinese has no spaces between words. */
function toPattern(word: string): string {
  const escaped = word.replaceAll(/[^\p{L}\p{N}_]/gu, "\\$&");
  return /\p{Script=Han}/u.test(word) ? escaped : `(?<![\\p{L}\\p{N}])${escaped}`;
}

const BEFORE = 60;
const LENGTH = 180;

/** The part of a text that has the most of the words, with the words marked. */
function cutExcerpt(text: string, words: readonly string[]): Hit["excerpt"] {
  const pattern = new RegExp(words.map(toPattern).join("|") || "$^", "giu");
  const start = findBestStart([...text.matchAll(pattern)].slice(0, MAX_MATCHES));
  const from = start < BEFORE ? 0 : text.indexOf(" ", start - BEFORE) + 1;
  const part = text.slice(from, from + LENGTH);
  const pieces: { text: string; isMarked: boolean }[] = [];
  let end = 0;
  for (const { 0: found, index } of part.matchAll(pattern)) {
    pieces.push({ text: part.slice(end, index), isMarked: false }, { text: found, isMarked: true });
    end = index + found.length;
  }
  pieces.push({ text: part.slice(end), isMarked: false });
  if (from > 0) pieces.unshift({ text: "… ", isMarked: false });
  if (from + LENGTH < text.length) pieces.push({ text: " …", isMarked: false });
  return pieces.filter((piece) => piece.text !== "");
}

const MAX_MATCHES = 100;

/** The place of the match after which most different words follow within an excerpt. */
function findBestStart(matches: readonly RegExpExecArray[]): number {
  let best = { index: 0, words: 0 };
  for (const { index } of matches) {
    const near = matches.filter((match) => match.index >= index && match.index < index + LENGTH - BEFORE);
    const words = new Set(near.map(([found]) => found.toLowerCase())).size;
    if (words > best.words) best = { index, words };
  }
  return best.index;
}
