import { describe, expect, it } from "vitest";
import { childValue, escapeXml, parseXml } from "./xml.js";

describe("parseXml", () => {
  it.each([
    ["<A><B>x</B></A>", "x"],
    ['<?xml version="1.0"?>\n<!-- a <b> -->\n<A xmlns="u" a=\'1\'>\n<B>x</B>\n</A>\n', "x"],
    ["\n\n  <A><C/><C />\n<D><B>no</B></D><B>x</B><B>y</B></A>", "x"],
    ["<s3:A><s3:B>x</s3:B></s3:A>", "x"],
    ["<A><B>&lt;&gt;&amp;&quot;&apos;&#65;&#x1F600;</B></A>", "<>&\"'A😀"],
    ["<A><B><![CDATA[<&lt;]]>&lt;</B></A>", "<&lt;<"],
    ["<A><B></B></A>", ""],
    ["<A><B/></A>", ""],
    ["<A>B</A>", undefined],
    ["<A/>", undefined],
  ])("reads %j", (text, value) => {
    expect(parseXml(text).name).toBe("A");
    expect(childValue(parseXml(text), "B")).toBe(value);
  });

  it.each([
    "",
    "   ",
    "x",
    "<A>",
    "</A>",
    "<A></B>",
    "<A><B></A></B>",
    "<A/><A/>",
    "<A/>x",
    "<A>&unknown;</A>",
    "<A>&lt</A>",
    "<A>&</A>",
    "<A>&#x110000;</A>",
    "<A>&#99999999;</A>",
    "<A><![CDATA[x</A>",
    "<A><!-- x</A>",
    '<!DOCTYPE A [<!ENTITY b "c">]><A>&b;</A>',
    "<!DOCTYPE A><A/>",
    "<html><body>Bad gateway<br></body></html>",
    "<A".repeat(10),
    "<A>".repeat(40) + "</A>".repeat(40),
  ])("refuses %j", (text) => {
    expect(() => parseXml(text)).toThrow("The XML");
  });

  it.each([
    ["an open comment", `<A><!--${"-".repeat(200_000)}`],
    ["many open tags", "<A ".repeat(80_000)],
    ["many references", `<A>${"&lt;".repeat(60_000)}`],
    ["many ampersands", "&".repeat(200_000)],
    ["many tags", "<a>".repeat(80_000)],
  ])("refuses %s in a short time", (_what, text) => {
    const before = process.cpuUsage();

    expect(() => parseXml(text)).toThrow("The XML");
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
  });

  it("reads what escapeXml writes", () => {
    const value = `"a"&b<c>'d'&amp;`;

    expect(parseXml(`<A>${escapeXml(value)}</A>`).value).toBe(value);
  });
});
