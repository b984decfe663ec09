import { useData, withBase } from "vitepress";
import { defineComponent, h, ref } from "vue";

/** Whether npm has the packages, and the version of this build. The build sets both. */
declare const DOCS_IS_RELEASED: boolean;
declare const DOCS_CREATE: string;

const TEXTS = {
  en: {
    copy: "Copy",
    copied: "Copied",
    state: "Not released yet. In a clone of the repository",
    more: "how it works",
  },
  zh: { copy: "复制", copied: "已复制", state: "尚未发布。在本仓库的克隆里", more: "说明" },
};

/** The command that makes an app, with a button that copies it. */
export const InstallLine = defineComponent(() => {
  const { lang } = useData();
  const isCopied = ref(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(DOCS_CREATE);
    isCopied.value = true;
    setTimeout(() => (isCopied.value = false), 2_000);
  };
  return () => {
    const texts = TEXTS[lang.value.startsWith("zh") ? "zh" : "en"];
    return h("div", { class: "install-line" }, [
      DOCS_IS_RELEASED
        ? undefined
        : h("p", [
            texts.state,
            " (",
            h("a", { href: withBase(texts === TEXTS.zh ? "/zh/install" : "/install") }, texts.more),
            "):",
          ]),
      h("div", { class: "install-command" }, [
        h("pre", h("code", DOCS_CREATE)),
        h(
          "button",
          { type: "button", onClick: () => void copy() },
          isCopied.value ? texts.copied : texts.copy,
        ),
        h("span", { class: "install-said", role: "status" }, isCopied.value ? texts.copied : ""),
      ]),
    ]);
  };
});
