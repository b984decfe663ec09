/** Whether the program that works and tells releases the hold of this id; others it settles. */
export function isToBeReleased(id: string): boolean {
  return Number(id.split("-").at(-1)) % 3 === 1;
}
