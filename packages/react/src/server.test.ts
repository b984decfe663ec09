import { createClient } from "@calotype/client";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { expect, it } from "vitest";
import { useImages } from "./index.js";

it("renders on a server, where there is no storage and nothing is sent", () => {
  const client = createClient({
    baseUrl: "/ai",
    fetch: () => Promise.reject(new Error("Nothing is sent while a page is rendered.")),
  });
  function Status() {
    const { status, images } = useImages({ client, storageKey: "boats" });
    return createElement("p", null, status, images.length);
  }

  expect(renderToString(createElement(Status))).toBe("<p>idle<!-- -->0</p>");
});
