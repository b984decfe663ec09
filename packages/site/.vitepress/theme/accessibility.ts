// What VitePress's own theme leaves out for screen readers.

/**
 * Marks the content of a home page as the main part, which other pages have by themselves, and makes the arrow of a group of the
 * sidebar a picture: the group around it is the button. Call it when a page has been shown.
 */
export function completeLandmarks(): void {
  const content = document.querySelector("#VPContent");
  if (content?.classList.contains("is-home") === true) content.setAttribute("role", "main");
  else content?.removeAttribute("role");
  for (const arrow of document.querySelectorAll(".VPSidebarItem .item[role=button] .caret")) {
    for (const name of ["role", "tabindex", "aria-label"]) arrow.removeAttribute(name);
    arrow.setAttribute("aria-hidden", "true");
  }
}
