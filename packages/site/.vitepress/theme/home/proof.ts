import { useData, withBase } from "vitepress";
import { defineComponent, h } from "vue";
import type { Figures } from "../../../src/home/figures.ts";

declare const HOME_FIGURES: Figures;

type Row = readonly [figure: string, text: string, link: string];

const number = (value: number): string => value.toLocaleString("en");

/** What was measured, with links to the pages that say how. `src/home/figures.ts` reads the figures from the stored results. */
export const Proof = defineComponent(() => {
  const { lang } = useData();
  const { testFiles, kills, comparedRequests, calotypeMs, portkeyMs, measured } = HOME_FIGURES;
  const english: readonly Row[] = [
    [
      number(kills),
      "servers killed at random moments. No charge was lost, and none was made twice.",
      "/hardening#kills",
    ],
    [
      number(comparedRequests),
      "random requests charged exactly as a model of the money computes. No budget was exceeded.",
      "/hardening#money-model",
    ],
    [
      `${calotypeMs.toFixed(1)} ms`,
      `of CPU time for a response with 4 MB of images; ${portkeyMs.toFixed(0)} ms with Portkey. Measured on ${measured}.`,
      "/performance",
    ],
    [
      number(testFiles),
      "test files, with the real client packages, databases and process kills.",
      "/contributing",
    ],
  ];
  const chinese: readonly Row[] = [
    [number(kills), "次在随机时刻强制终止服务器：没有丢失一笔费用，也没有重复收费。", "/hardening#kills"],
    [
      number(comparedRequests),
      "个随机请求的费用与资金模型的计算完全一致，没有超出任何预算。",
      "/hardening#money-model",
    ],
    [
      `${calotypeMs.toFixed(1)} 毫秒`,
      `CPU 时间，用于含 4 MB 图片的响应；Portkey 是 ${portkeyMs.toFixed(0)} 毫秒。测于 ${measured}。`,
      "/performance",
    ],
    [number(testFiles), "个测试文件，使用真实的客户端包、数据库，并强制终止进程。", "/contributing"],
  ];
  return () =>
    h(
      "ul",
      { class: "proof" },
      (lang.value.startsWith("zh") ? chinese : english).map(([figure, text, link]) =>
        h("li", h("a", { href: withBase(link) }, [h("strong", figure), h("span", text)])),
      ),
    );
});
