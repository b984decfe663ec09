import { expect, it } from "vitest";
import { findUrlBefore } from "./converted-requests.js";

const PATH = "/v1/chat/completions";

it.each([
  [`/ai${PATH}`, "/ai"],
  [`/ai${PATH}/?a=${PATH}#b`, "/ai"],
  ["//ai///v1//chat/completions//", "/ai"],
  [`https://gateway.test:8443/ai${PATH}?a=1`, "https://gateway.test:8443/ai"],
  [`/ai${PATH}/more${PATH}`, `/ai${PATH}/more`],
])("the URL before %s", (url, before) => {
  expect(findUrlBefore({ url }, PATH)).toBe(before);
});
