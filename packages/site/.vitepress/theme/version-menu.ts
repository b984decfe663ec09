import { defineComponent, h, onMounted, ref } from "vue";

/** The version of these pages, and the path of the whole site. The build sets both. */
declare const DOCS_VERSION: string;
declare const DOCS_ROOT: string;

/**
 * The version of the page, as a menu if there are others. The list is read from the site when the page is open, so the
 * pages of an old version also name the versions that came later.
 */
export const VersionMenu = defineComponent(() => {
  const versions = ref<readonly string[]>([]);
  onMounted(async () => {
    versions.value = await readVersions();
  });
  return () => {
    if (versions.value.length === 0) return h("span", { class: "version-menu" }, DOCS_VERSION);
    const others = versions.value.filter((version) => version !== DOCS_VERSION);
    const options = [
      h("option", { value: "" }, DOCS_VERSION),
      ...others.map((version) => h("option", { value: `v${version}/` }, version)),
      h("option", { value: "." }, "newest"),
    ];
    return h("select", { class: "version-menu", "aria-label": "Version", onChange: open }, options);
  };
});

/** The released versions, or an empty list where the site has none: then the version is shown without a menu. */
async function readVersions(): Promise<readonly string[]> {
  const response = await fetch(`${DOCS_ROOT}versions.json`);
  return response.ok ? response.json() : [];
}

function open({ target }: Event): void {
  if (!(target instanceof HTMLSelectElement) || target.value === "") return;
  window.location.href = `${DOCS_ROOT}${target.value === "." ? "" : target.value}`;
}
