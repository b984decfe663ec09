import { useData, withBase } from "vitepress";
import { defineComponent, h } from "vue";
import type { Figures } from "../../../src/home/figures.ts";

declare const HOME_FIGURES: Figures;

/** Four images of one request, and what they cost with the calculation. `src/home/write-picture.ts` makes them. */
export const HomePicture = defineComponent(() => {
  const { lang } = useData();
  const { model, images, charge, derivation } = HOME_FIGURES.picture;
  const numbers = Array.from({ length: images }, (_, index) => index + 1);
  const { model_price: price, group_ratio: ratio } = derivation;
  return () => {
    const isChinese = lang.value.startsWith("zh");
    const [count, made, alt, group] = isChinese
      ? [`${images} 张图`, "由模拟器生成", "一张占位图：港口的日出", "vip 组"]
      : [
          `${images} images`,
          "made by the emulator",
          "A placeholder image: sunrise at a harbour",
          "for the group vip",
        ];
    return h("figure", { class: "home-picture" }, [
      h(
        "div",
        { class: "home-images" },
        numbers.map((number) =>
          h("img", {
            src: withBase(`/home/${number}.webp`),
            width: 560,
            height: 315,
            alt: `${alt} ${number}`,
          }),
        ),
      ),
      h("figcaption", [
        h("span", `${model} · ${made}`),
        h("span", { class: "home-charge" }, [
          `${price} × ${count} × ${ratio} (${group}) = `,
          h("strong", charge),
        ]),
      ]),
    ]);
  };
});
