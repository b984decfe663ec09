/** What one caller and the others have of something that all callers share, such as places or bytes. */
export interface Holdings {
  readonly own: number;
  readonly others: number;
  readonly capacity: number;
}

/**
 * Whether a caller may have `size` more: then it has at most half of what the others leave. So a caller that is alone has at
 * most half, each of two a third, and each of n callers an (n + 1)th: a caller that wants more crowds out only itself. A caller that
 * has nothing may have all that is free, so that one thing that is larger than the half is possible.
 */
export function fitsShare({ own, others, capacity }: Holdings, size: number): boolean {
  const left = capacity - others;
  return own === 0 ? size <= left : 2 * (own + size) <= left;
}

/** Counts what each caller has. A caller that has nothing takes no memory. */
export class CallerCounts {
  readonly #counts = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  of(caller: string): number {
    return this.#counts.get(caller) ?? 0;
  }

  /** @param size negative for what the caller has no longer */
  add(caller: string, size: number): void {
    const count = this.of(caller) + size;
    if (count > 0) this.#counts.set(caller, count);
    else this.#counts.delete(caller);
    this.#total += size;
  }

  /** See {@link fitsShare}. */
  fits(caller: string, size: number, capacity: number): boolean {
    const own = this.of(caller);
    return fitsShare({ own, others: this.#total - own, capacity }, size);
  }
}
