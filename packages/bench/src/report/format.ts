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
