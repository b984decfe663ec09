// Groups of tabs with package managers show the same one everywhere, also on the next page.

const KEY = "calotype-package-manager";
const NAMES: ReadonlySet<string> = new Set(["npm", "pnpm", "yarn", "bun"]);

/** Shows the package manager that the reader chose last, in all groups of the page. */
export function showPackageManager(): void {
  const name = localStorage.getItem(KEY);
  if (name !== null) for (const group of findGroups()) show(group, name);
}

/** Remembers a choice, and shows it in the other groups of the page. Call it once. */
export function watchPackageManager(): void {
  document.addEventListener("change", ({ target }) => {
    if (!(target instanceof HTMLInputElement) || !target.matches(".vp-code-group .tabs input")) return;
    const name = target.labels?.[0]?.dataset["title"];
    if (name === undefined || !NAMES.has(name)) return;
    localStorage.setItem(KEY, name);
    for (const group of findGroups()) if (!group.contains(target)) show(group, name);
  });
}

function findGroups(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>(".vp-code-group")];
}

/** Does what VitePress does when a tab is clicked, without scrolling to it. */
function show(group: HTMLElement, name: string): void {
  const inputs = [...group.querySelectorAll<HTMLInputElement>(".tabs input")];
  const index = inputs.findIndex(({ labels }) => labels?.[0]?.dataset["title"] === name);
  const input = inputs[index];
  if (input === undefined) return;
  input.checked = true;
  const blocks = [...(group.querySelector(".blocks")?.children ?? [])];
  for (const [at, block] of blocks.entries()) block.classList.toggle("active", at === index);
}
