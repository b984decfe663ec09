import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import { h } from "vue";
// oxlint-disable-next-line import/no-unassigned-import -- styles
import "./style.css";
import { VersionMenu } from "./version-menu.ts";

/** VitePress's own theme in the colors of the studio, without its fonts, and with a menu of the versions. */
const theme: Theme = {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      "nav-bar-content-after": () => h(VersionMenu),
      "nav-screen-content-after": () => h(VersionMenu),
    }),
};

export default theme;
