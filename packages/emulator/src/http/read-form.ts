import { createHash } from "node:crypto";

/** A file of a form. */
export interface FormFile {
  /** The name of the field. */
  readonly name: string;
  readonly filename: string;
  /** The `Content-Type` of the part, as sent. */
  readonly type: string;
  readonly bytes: Buffer;
}

/** One part of a form, as it is recorded. */
export interface FormPart {
  /** The name of the field. */
  readonly name: string;
  /** In bytes. */
  readonly size: number;
  /** The value of a part that is not a file. */
  readonly text?: string;
  /** The name of the file. Absent if the part is not a file. */
  readonly filename?: string;
  /** The `Content-Type` of a file, as sent. */
  readonly type?: string;
  /** The SHA-256 of a file, in hexadecimal digits. */
  readonly sha256?: string;
}

/** A form that was read. */
export interface Form {
  /** The texts by name. A name that was sent several times has its last value. */
  readonly texts: Readonly<Record<string, string>>;
  readonly files: readonly FormFile[];
  /** All parts in the order they were sent. */
  readonly parts: readonly FormPart[];
}

/** Reads `multipart/form-data`. `undefined` if the body is another type or is malformed. */
export async function readForm(contentType: string | null, bytes: Buffer): Promise<Form | undefined> {
  if (contentType === null || !/^multipart\/form-data\b/i.test(contentType)) return undefined;
  const data = await parse(contentType, bytes);
  if (data === undefined) return undefined;
  const texts: Record<string, string> = {};
  const files: FormFile[] = [];
  const parts: FormPart[] = [];
  for (const [name, value] of data) {
    if (typeof value === "string") {
      texts[name] = value;
      parts.push({ name, size: Buffer.byteLength(value), text: value });
    } else {
      const content = Buffer.from(await value.arrayBuffer());
      files.push({ name, filename: value.name, type: value.type, bytes: content });
      const sha256 = createHash("sha256").update(content).digest("hex");
      parts.push({ name, size: content.byteLength, filename: value.name, type: value.type, sha256 });
    }
  }
  return { texts, files, parts };
}

async function parse(contentType: string, bytes: Buffer): Promise<FormData | undefined> {
  try {
    return await new Response(new Uint8Array(bytes), { headers: { "content-type": contentType } }).formData();
  } catch {
    return undefined;
  }
}
