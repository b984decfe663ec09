/** Whether a list of entity tags (`if-none-match`) contains this one, compared without the mark for weak tags. */
export function listsTag(header: string | null, tag: string): boolean {
  if (header === null) return false;
  return (
    header.trim() === "*" || header.split(",").some((listed) => listed.trim().replace(/^W\//, "") === tag)
  );
}
