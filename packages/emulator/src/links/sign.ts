import { createHmac, timingSafeEqual } from "node:crypto";
import type { ProviderName } from "../provider-name.js";

/** A result link before it is signed. `issuedAt` is in seconds since the epoch. */
export interface LinkDetails {
  readonly provider: ProviderName;
  readonly origin: string;
  /** The name of the file: the id of the image and the format as its extension. */
  readonly file: string;
  readonly issuedAt: number;
  readonly ttlSeconds: number;
}

export type LinkState = "valid" | "expired" | "tampered";

/** The path of all result links of a provider. */
export function folderOf(provider: ProviderName): string {
  return `/${provider}-results/`;
}

/** This key is public. The signature only shows that the expiry was not changed. */
const signingKey = "calotype-emulator";

/** A link like those of the object store of the provider: TOS for Ark, OSS for DashScope, a short form for others. */
export function signLink(details: LinkDetails): string {
  const url = new URL(folderOf(details.provider) + details.file, details.origin);
  if (details.provider === "ark") signForTos(url, details);
  else if (details.provider === "dashscope") signForOss(url, details);
  else signWithSas(url, details);
  return url.href;
}

/** Whether a link is valid at this time (milliseconds since the epoch). */
export function checkLink(url: URL, provider: ProviderName, now: number): LinkState {
  const [signatureName, expiresAt] = readSignature(url, provider);
  const given = url.searchParams.get(signatureName) ?? "";
  if (!isSame(given, signatureOf(url, signatureName))) return "tampered";
  return now / 1000 < expiresAt ? "valid" : "expired";
}

/** The name of the parameter with the signature, and the expiry in seconds since the epoch. */
function readSignature(url: URL, provider: ProviderName): readonly [string, number] {
  if (provider === "ark") return ["X-Tos-Signature", readTosExpiry(url)];
  if (provider === "dashscope") return ["Signature", Number(url.searchParams.get("Expires") ?? Number.NaN)];
  return ["sig", Date.parse(url.searchParams.get("se") ?? "") / 1000];
}

function signForTos(url: URL, details: LinkDetails): void {
  url.searchParams.set("X-Tos-Algorithm", "TOS4-HMAC-SHA256");
  url.searchParams.set("X-Tos-Date", compactDate(details.issuedAt));
  url.searchParams.set("X-Tos-Expires", String(details.ttlSeconds));
  url.searchParams.set("X-Tos-SignedHeaders", "host");
  url.searchParams.set("X-Tos-Signature", signatureOf(url, "X-Tos-Signature"));
}

function signForOss(url: URL, details: LinkDetails): void {
  url.searchParams.set("Expires", String(details.issuedAt + details.ttlSeconds));
  url.searchParams.set("OSSAccessKeyId", "emulator");
  url.searchParams.set("Signature", signatureOf(url, "Signature"));
}

/** The parameters of a shared access signature of Azure's object store, which BFL uses too. */
function signWithSas(url: URL, details: LinkDetails): void {
  const expiresAt = new Date((details.issuedAt + details.ttlSeconds) * 1000);
  url.searchParams.set("se", `${expiresAt.toISOString().slice(0, 19)}Z`);
  url.searchParams.set("sp", "r");
  url.searchParams.set("sig", signatureOf(url, "sig"));
}

/** `20261121T093000Z`, as TOS writes dates. */
function compactDate(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`;
}

function readTosExpiry(url: URL): number {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(url.searchParams.get("X-Tos-Date") ?? "");
  if (parts === null) return Number.NaN;
  const [year, month, day, hour, minute, second] = parts.slice(1);
  const issuedAt = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) / 1000;
  return issuedAt + Number(url.searchParams.get("X-Tos-Expires") ?? Number.NaN);
}

/** Covers the path and all parameters except the signature, in their order. */
function signatureOf(url: URL, signatureName: string): string {
  const signed = new URLSearchParams(url.searchParams);
  signed.delete(signatureName);
  return createHmac("sha256", signingKey).update(`${url.pathname}?${signed.toString()}`).digest("hex");
}

function isSame(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
