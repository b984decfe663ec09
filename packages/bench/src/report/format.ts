/** What documents show of the stored runs, by name: a table or some words. */
export type Figures = Readonly<Record<string, string>>;

/** Formats milliseconds with a suitable number of digits. */
export function formatMs(value: number): string {
  if (Number.isNaN(value)) return "–";
  if (value >= 100) return value.toFixed(0);
  if (value >= 1) return value.toFixed(1);
  return value.toFixed(3);
}

export function formatMegabytes(bytes: number): string {
  return Number.isNaN(bytes) ? "–" : (bytes / 1e6).toFixed(0);
}

export function formatRatio(value: number): string {
  return Number.isNaN(value) ? "–" : `${value.toFixed(2)} ×`;
}

export function formatCount(value: number): string {
  return Number.isNaN(value) ? "–" : Math.round(value).toLocaleString("en-US");
}

/** A number with two significant digits, such as 1,300 or 0.25. */
export function formatAbout(value: number): string {
  if (Number.isNaN(value)) return "–";
  const rounded = Number(value.toPrecision(2));
  return rounded.toLocaleString("en-US", { maximumSignificantDigits: 2 });
}

/** Bytes in the unit that suits, with two significant digits. */
export function formatBytes(bytes: number): string {
  if (Number.isNaN(bytes)) return "–";
  const units = ["bytes", "kB", "MB", "GB", "TB", "PB"];
  let [value, at] = [Number(bytes.toPrecision(2)), 0];
  while (Math.abs(value) >= 1000 && at < units.length - 1) {
    value /= 1000;
    at += 1;
  }
  return `${formatAbout(value)} ${units[at]}`;
}

/** Milliseconds in the unit that suits, with two significant digits. */
export function formatTime(ms: number): string {
  if (Number.isNaN(ms)) return "–";
  if (ms < 0.1) return `${formatAbout(ms * 1000)} µs`;
  return ms < 1000 ? `${formatAbout(ms)} ms` : `${formatAbout(ms / 1000)} s`;
}
