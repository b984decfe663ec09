import { onContentUpdated, type Theme } from "vitepress";
import DefaultTheme, { VPFeatures } from "vitepress/theme-without-fonts";
import { h, onMounted } from "vue";
import { completeLandmarks } from "./accessibility.ts";
import { InstallLine } from "./home/install-line.ts";
import { HomePicture } from "./home/picture.ts";
import { Proof } from "./home/proof.ts";
import { showPackageManager, watchPackageManager } from "./package-manager.ts";
import { SearchBox } from "./search-box.ts";
import "./style.css";
import { OldVersionNotice, VersionMenu } from "./version-menu.ts";

/** VitePress's own theme in the colors of the studio, without its fonts, and with a menu of the versions. */
const theme: Theme = {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      "nav-bar-content-before": () => h(SearchBox),
      "home-hero-image": () => h(HomePicture),
      "home-hero-actions-after": () => h(InstallLine),
      "nav-bar-content-after": () => h(VersionMenu),
      "nav-screen-content-after": () => h(VersionMenu),
      "doc-before": () => h(OldVersionNotice),
    }),
  setup() {
    onMounted(watchPackageManager);
    onContentUpdated(showPackageManager);
    onContentUpdated(completeLandmarks);
  },
  enhanceApp({ app }) {
    app.component("Features", VPFeatures);
    app.component("Proof", Proof);
  },
};

export default theme;
