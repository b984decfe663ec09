import { useData, useRouter, withBase } from "vitepress";
import { defineComponent, h, nextTick, onMounted, onUnmounted, ref, shallowRef, watch } from "vue";
import {
  addSections,
  createIndex,
  type Hit,
  type Index,
  type Section,
  search,
} from "../../src/search/search.ts";

const TEXTS = {
  en: {
    button: "Search",
    placeholder: "What do you want to do?",
    close: "Close",
    loading: "Loading the search …",
    reading: (read: number, all: number) => `Reading ${read} of ${all} sections …`,
    found: (count: number) => (count === 0 ? "Nothing found. Try another word." : `${count} results`),
    hint: "Such as: price without restart, csv export, 429, move to PostgreSQL",
  },
  zh: {
    button: "搜索",
    placeholder: "你想做什么？",
    close: "关闭",
    loading: "正在加载搜索 …",
    reading: (read: number, all: number) => `正在读取第 ${read} 节，共 ${all} 节 …`,
    found: (count: number) => (count === 0 ? "没有结果，请换一个词。" : `${count} 条结果`),
    hint: "例如：预算、限流、结果存储、429",
  },
};

/** So many sections are added at once. The page stays usable between two parts. */
const AT_ONCE = 150;

/** The index of a language. It is made once, and used by all pages. */
const indexes = new Map<string, Promise<Index>>();

/** How much of the index is made: sections that were read, of all. */
const progress = ref<readonly [read: number, all: number]>();

/** The Chinese index has the English pages too, because most pages are in English only. The Chinese ones come first. */
async function loadIndex(language: "en" | "zh"): Promise<Index> {
  const english = await import("virtual:search/en");
  const chinese = language === "zh" ? await import("virtual:search/zh") : undefined;
  const sections: Section[] = [chinese, english].flatMap((module) =>
    module ? JSON.parse(module.default) : [],
  );
  const index = createIndex();
  for (let read = 0; read < sections.length; read += AT_ONCE) {
    progress.value = [read, sections.length];
    addSections(index, sections.slice(read, read + AT_ONCE));
    await new Promise((resolve) => setTimeout(resolve));
  }
  progress.value = undefined;
  return index;
}

/** A button in the top menu, and a dialog with a field, the results with excerpts, and the progress while the index is made. */
export const SearchBox = defineComponent(() => {
  const { lang } = useData();
  const router = useRouter();
  const dialog = ref<HTMLDialogElement>();
  const field = ref<HTMLInputElement>();
  const list = ref<HTMLElement>();
  const query = ref("");
  const hits = shallowRef<readonly Hit[]>([]);
  const index = shallowRef<Index>();
  const language = (): "en" | "zh" => (lang.value.startsWith("zh") ? "zh" : "en");

  const openDialog = async (): Promise<void> => {
    dialog.value?.showModal();
    field.value?.select();
    const wanted = language();
    const loading = indexes.get(wanted) ?? loadIndex(wanted);
    indexes.set(wanted, loading);
    // The next time it is tried again.
    loading.catch(() => indexes.delete(wanted));
    index.value = await loading;
  };
  const closeDialog = (): void => dialog.value?.close();

  watch([query, index], () => {
    hits.value = index.value === undefined ? [] : search(index.value, query.value);
  });

  const follow = (event: Event, id: string): void => {
    if (event instanceof MouseEvent && (event.ctrlKey || event.metaKey || event.shiftKey)) return;
    event.preventDefault();
    closeDialog();
    void router.go(withBase(`/${id}`));
  };

  /** Arrow keys go from the field to the results, and back. */
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter" && event.target === field.value && hits.value[0] && !event.isComposing)
      return follow(event, hits.value[0].id);
    if (step === undefined) return;
    event.preventDefault();
    const links = [...(list.value?.querySelectorAll("a") ?? [])];
    const at = links.findIndex((link) => link === document.activeElement) + step;
    void nextTick(() => (at < 0 ? field.value : links[Math.min(at, links.length - 1)])?.focus());
  };

  const openByKey = (event: KeyboardEvent): void => {
    const { target } = event;
    const isTyping =
      target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
    const isShortcut = event.key.toLowerCase() === "k" && (event.metaKey || event.ctrlKey);
    if (!isShortcut && (event.key !== "/" || isTyping)) return;
    event.preventDefault();
    void openDialog();
  };
  onMounted(() => window.addEventListener("keydown", openByKey));
  onUnmounted(() => window.removeEventListener("keydown", openByKey));

  const renderHit = (hit: Hit) =>
    h("li", [
      h("a", { href: withBase(`/${hit.id}`), onClick: (event: Event) => follow(event, hit.id) }, [
        h("span", { class: "search-title" }, [
          hit.above === "" ? "" : h("span", { class: "search-above" }, `${hit.above} › `),
          hit.title,
        ]),
        h(
          "span",
          { class: "search-excerpt" },
          hit.excerpt.map(({ text, isMarked }) => (isMarked ? h("mark", text) : text)),
        ),
      ]),
    ]);

  const renderState = (texts: (typeof TEXTS)["en"]) => {
    if (index.value === undefined) {
      const [read, all] = progress.value ?? [];
      const isReading = read !== undefined && all !== undefined;
      const label = isReading ? texts.reading(read, all) : texts.loading;
      return [h("progress", { "aria-label": label, ...(isReading ? { value: read, max: all } : {}) }), label];
    }
    return [query.value.trim() === "" ? texts.hint : texts.found(hits.value.length)];
  };

  return () => {
    const texts = TEXTS[language()];
    return h("div", { class: "search" }, [
      h("button", { type: "button", class: "search-button", onClick: () => void openDialog() }, [
        h("span", { class: "vpi-search", "aria-hidden": "true" }),
        h("span", { class: "search-label" }, texts.button),
        h("kbd", { "aria-hidden": "true" }, "/"),
      ]),
      h(
        "dialog",
        {
          ref: dialog,
          class: "search-dialog",
          "aria-label": texts.button,
          onKeydown: move,
          // A click beside the dialog is a click on its backdrop.
          onClick: (event: Event) => event.target === dialog.value && closeDialog(),
        },
        [
          h("div", { class: "search-content" }, [
            h("div", { class: "search-field" }, [
              h("input", {
                ref: field,
                type: "search",
                value: query.value,
                placeholder: texts.placeholder,
                "aria-label": texts.placeholder,
                autocomplete: "off",
                spellcheck: false,
                onInput: ({ target }: Event) => {
                  if (target instanceof HTMLInputElement) query.value = target.value;
                },
              }),
              h("button", { type: "button", onClick: closeDialog }, texts.close),
            ]),
            h("p", { class: "search-state", role: "status" }, renderState(texts)),
            h("ol", { ref: list, class: "search-hits" }, hits.value.map(renderHit)),
          ]),
        ],
      ),
    ]);
  };
});
