import { onContentUpdated, type Theme } from "vitepress";
import DefaultTheme, { VPFeatures } from "vitepress/theme-without-fonts";
import { h, onMounted } from "vue";
import { showPackageManager, watchPackageManager } from "./package-manager.ts";
import "./style.css";
import { OldVersionNotice, VersionMenu } from "./version-menu.ts";

/** VitePress's own theme in the colors of the studio, without its fonts, and with a menu of the versions. */
const theme: Theme = {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      "nav-bar-content-after": () => h(VersionMenu),
      "nav-screen-content-after": () => h(VersionMenu),
      "doc-before": () => h(OldVersionNotice),
    }),
  setup() {
    onMounted(watchPackageManager);
    onContentUpdated(showPackageManager);
  },
  enhanceApp({ app }) {
    app.component("Features", VPFeatures);
  },
};

export default theme;
