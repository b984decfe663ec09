import { useData } from "vitepress";
import { defineComponent, h, onMounted, ref } from "vue";
import { listVersionOptions } from "../../src/version-options.ts";

/** The version of these pages, and the path of the whole site. The build sets both. */
declare const DOCS_VERSION: string;
declare const DOCS_ROOT: string;

/**
 * The version of the page, as a menu if there are others. The list is read from the site when the page is open, so the
 * pages of an old version also name the versions that came later.
 */
export const VersionMenu = defineComponent(() => {
  const { site, lang } = useData();
  const versions = ref<readonly string[]>([]);
  onMounted(async () => {
    versions.value = await readVersions();
  });
  return () => {
    if (versions.value.length === 0) {
      const label = lang.value.startsWith("zh")
        ? DOCS_VERSION.replace(" (not released)", "（未发布）")
        : DOCS_VERSION;
      return h("span", { class: "version-menu" }, `v${label}`);
    }
    const options = listVersionOptions(DOCS_VERSION, site.value.base === DOCS_ROOT, versions.value);
    return h(
      "select",
      {
        class: "version-menu",
        "aria-label": "Version",
        onChange: (event: Event) => open(event, site.value.base),
      },
      options.map(({ value, text }) => h("option", { value }, text)),
    );
  };
});

/** A line at the top of the pages of an old version, which search engines and old links lead to. */
export const OldVersionNotice = defineComponent(() => {
  const { site, lang } = useData();
  const newest = ref<string>();
  onMounted(async () => {
    [newest.value] = await readVersions();
  });
  return () => {
    if (site.value.base === DOCS_ROOT || newest.value === undefined || newest.value === DOCS_VERSION) return;
    const [text, link] = lang.value.startsWith("zh")
      ? [`这是 ${DOCS_VERSION} 版的文档。`, "最新版本的这一页"]
      : [`This page is about version ${DOCS_VERSION}. `, "The same page of the newest version"];
    const onClick = (event: Event): void => {
      event.preventDefault();
      void openVersion(".", site.value.base);
    };
    // With a target, VitePress does not look for the page in its own version.
    const attributes = { href: DOCS_ROOT, target: "_self", onClick };
    return h("p", { class: "old-version" }, [text, h("a", attributes, link)]);
  };
});

/** The released versions, or an empty list where the site has none: then the version is shown without a menu. */
async function readVersions(): Promise<readonly string[]> {
  const response = await fetch(`${DOCS_ROOT}versions.json`);
  // `npm run docs` responds with a page to each address that it does not know.
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  return response.ok && isJson ? response.json() : [];
}

function open({ target }: Event, base: string): void {
  if (target instanceof HTMLSelectElement && target.value !== "") void openVersion(target.value, base);
}

/**
 * Opens the same page of another version, or its home page if it has no such page. `version` is the value of an option of the
 * menu, and `base` the path of this version.
 */
async function openVersion(version: string, base: string): Promise<void> {
  const home = `${DOCS_ROOT}${version === "." ? "" : version}`;
  const page = home + window.location.pathname.slice(base.length);
  const { ok } = await fetch(page, { method: "HEAD" });
  window.location.href = ok ? page : home;
}
