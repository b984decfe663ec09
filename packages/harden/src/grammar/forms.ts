import { drawCuts, mutateBytes, toBytes } from "./bytes.ts";
import { chance, drawInt, drawSize, pick, type Random } from "./draw.ts";
import { EDITS, type RequestInput, SEEDREAM } from "./requests.ts";

/** One part of a form. */
interface FormPart {
  readonly name: string;
  readonly content: Buffer;
  /** Absent: a text field. */
  readonly file?: { readonly name: string; readonly type: string };
}

/** A form: a third of them valid, the others with odd parts, odd framing or changed bytes. */
export function drawFormRequest(random: Random): RequestInput {
  const boundary = pick(random, BOUNDARIES);
  const parts = drawParts(random);
  const isValid = chance(random, 0.33);
  const bytes = isValid ? writeForm(boundary, parts) : writeOddForm(random, boundary, parts);
  const quoted = /^[\w-]+$/.test(boundary) && chance(random, 0.7) ? boundary : `"${boundary}"`;
  return {
    via: pick(random, ["fetch", "handle"]),
    method: "POST",
    path: EDITS,
    headers: [
      ["authorization", "Bearer $CALLER_KEY"],
      ["content-type", `multipart/form-data; boundary=${isValid ? quoted : oddBoundary(random, quoted)}`],
      ...(chance(random, 0.3) ? [["content-length", String(bytes.length)] as const] : []),
    ],
    body: toBytes(bytes),
    cuts: drawCuts(random, bytes.length),
    ending: isValid || chance(random, 0.97) ? "whole" : pick(random, ["fails", "aborts", "stalls"]),
    reader: chance(random, 0.97) ? "reads" : "leaves",
    isValid,
    ...(isValid && { forwards: { image: toForwarded(parts) } }),
  };
}

const BOUNDARIES = [
  "b",
  "----WebKitFormBoundary7MA4YWxkTrZu0gW",
  "x".repeat(70),
  "a'()+_,./:=?z",
  "--",
  "-",
  "0",
  "b--",
  "B b",
];

function oddBoundary(random: Random, quoted: string): string {
  const kind = random();
  if (kind < 0.9) return quoted;
  return pick(random, [
    "",
    '""',
    "b; charset=utf-8",
    `${quoted}; boundary=c`,
    "x".repeat(300),
    '"b',
    "é",
    "b\tc",
  ]);
}

/** The shortest files that the gateway recognizes, by their type. */
const IMAGES: readonly (readonly [string, Buffer])[] = [
  ["png", Buffer.from("\x89PNG\r\n\x1a\n", "latin1")],
  ["jpeg", Buffer.from("\xff\xd8\xff\xe0", "latin1")],
  ["gif", Buffer.from("GIF89a", "latin1")],
  ["bmp", Buffer.from("BM\0\0", "latin1")],
  ["webp", Buffer.from("RIFF\0\0\0\0WEBPVP8 ", "latin1")],
];
const FILE_NAMES = [
  "a.png",
  "图.png",
  "a b.jpg",
  "C:\\a.gif",
  "a;b.png",
  "",
  "..",
  "x".repeat(300),
  "a%22.png",
];
const IMAGE_NAMES = ["image", "image[]", "image[0]", "image[1]", "image[7]", "image[10]"];

function drawParts(random: Random): FormPart[] {
  const images = Array.from({ length: drawInt(random, 1, chance(random, 0.1) ? 12 : 3) }, () =>
    drawImage(random),
  );
  const fields = [
    { name: "model", content: Buffer.from(SEEDREAM) },
    {
      name: "prompt",
      content: Buffer.from(pick(random, ["a red fox", "橘猫", "a\r\nb", "- -b", " x", "x".repeat(2_000)])),
    },
    ...(chance(random, 0.4)
      ? [{ name: "size", content: Buffer.from(pick(random, ["2K", "2048x2048"])) }]
      : []),
    ...(chance(random, 0.3) ? [{ name: "n", content: Buffer.from(String(drawInt(random, 1, 3))) }] : []),
    ...(chance(random, 0.3) ? [{ name: "response_format", content: Buffer.from("url") }] : []),
    ...(chance(random, 0.2) ? [{ name: "watermark", content: Buffer.from("false") }] : []),
  ];
  const all: FormPart[] = [...fields, ...images];
  return all
    .map((part) => ({ part, order: random() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ part }) => part);
}

function drawImage(random: Random): FormPart {
  const [type, start] = pick(random, IMAGES);
  const tail = pick(random, ["", "\r\n--\0", "\r\n--b", "--b--\r\n", "\0\0", "\r\n\r\n", "\n--b\n"]);
  const noise = Buffer.from(
    Array.from({ length: drawSize(random, 30, chance(random, 0.02) ? 20_000 : 300) }, () =>
      drawInt(random, 0, 255),
    ),
  );
  return {
    name: pick(random, IMAGE_NAMES),
    // The content must not contain a delimiter of the form.
    content: Buffer.concat([start, Buffer.from(tail.replace("--b", "--q")), noise, Buffer.from("z")]),
    file: drawFile(random, type),
  };
}

/** Without a file name, a part of type text/plain is a text field, not a file. */
function drawFile(random: Random, imageType: string): NonNullable<FormPart["file"]> {
  const name = pick(random, FILE_NAMES);
  const types = [`image/${imageType}`, "application/octet-stream", "image/png", "application/x-unknown"];
  return { name, type: pick(random, name === "" ? types : [...types, "text/plain"]) };
}

/** The order of images by decision 6: `image[n]` by number, then the others as sent. */
function toForwarded(parts: readonly FormPart[]): readonly string[] {
  const images = parts.filter(({ file }) => file !== undefined);
  const numberOf = ({ name }: FormPart): number => Number(/\[(\d+)\]/.exec(name)?.[1] ?? Infinity);
  return images
    .toSorted((a, b) => (numberOf(a) === numberOf(b) ? 0 : numberOf(a) - numberOf(b)))
    .map(({ content }) => {
      const type = IMAGES.find(([, start]) => content.subarray(0, start.length).equals(start))?.[0];
      return `data:image/${type};base64,${content.toString("base64")}`;
    });
}

function writeForm(boundary: string, parts: readonly FormPart[]): Buffer {
  const written = parts.flatMap((part) => [
    Buffer.from(`--${boundary}\r\n${writeHead(part)}\r\n\r\n`),
    part.content,
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...written, Buffer.from(`--${boundary}--\r\n`)]);
}

function writeHead({ name, file }: FormPart): string {
  const disposition = `Content-Disposition: form-data; name="${name}"`;
  if (file === undefined) return disposition;
  const fileName = file.name.replaceAll("\\", "\\\\").replaceAll('"', "%22");
  return `${disposition}; filename="${fileName}"\r\nContent-Type: ${file.type}`;
}

function writeOddForm(random: Random, boundary: string, parts: readonly FormPart[]): Buffer {
  const line = chance(random, 0.9) ? "\r\n" : pick(random, ["\n", "\r", "\n\r"]);
  const pieces: Buffer[] = chance(random, 0.1)
    ? [Buffer.from(pick(random, PREAMBLES)), Buffer.from(line)]
    : [];
  for (const part of addOddParts(random, parts)) {
    const padding = chance(random, 0.95) ? "" : pick(random, [" ", "\t", "-", "--", "x", "   "]);
    pieces.push(
      Buffer.from(`--${boundary}${padding}${line}${drawHead(random, part, line)}${line}${line}`),
      part.content,
    );
    if (chance(random, 0.97)) pieces.push(Buffer.from(line));
    // A final delimiter before the last part.
    if (chance(random, 0.03)) pieces.push(Buffer.from(`--${boundary}--${line}`));
  }
  if (chance(random, 0.85)) pieces.push(Buffer.from(`--${boundary}--`));
  if (chance(random, 0.15)) pieces.push(Buffer.from(pick(random, epilogues(boundary))));
  const bytes = Buffer.concat(pieces);
  if (chance(random, 0.2)) return mutateBytes(random, bytes);
  return chance(random, 0.1) ? bytes.subarray(0, drawInt(random, 0, bytes.length)) : bytes;
}

const PREAMBLES = [
  "This is a message.",
  "",
  "--",
  "--b",
  "--b--",
  "--b--\r\n",
  "\0".repeat(40),
  "--b--\r\n--b\r\n",
];

function epilogues(boundary: string): readonly string[] {
  const open = `Content-Disposition: form-data; name="image"; filename="a"\r\n\r\nGIF89a`;
  return [
    "\r\n",
    "\r\nepilogue",
    "\r\n\r\n",
    `\r\n--${boundary}`,
    `\r\n--${boundary}\r\n`,
    `\r\n--${boundary}\r\n${open}`,
    `\r\n--${boundary}\r\n--${boundary}\r\n${open}`,
    `\r\n--${boundary}--\r\n--${boundary}--`,
    `\r\n--${boundary}\r\nA: b`,
    "-",
    "\0",
  ];
}

function addOddParts(random: Random, parts: readonly FormPart[]): readonly FormPart[] {
  let odd = [...parts];
  for (let left = drawSize(random, 1, 6); left > 0; left -= 1) {
    const position = drawInt(random, 0, odd.length);
    const copy = odd[position];
    const kind = random();
    if (kind < 0.25) odd = odd.toSpliced(position, 1);
    else if (kind < 0.4 && copy !== undefined) odd = odd.toSpliced(position, 0, copy);
    else if (kind < 0.45)
      odd = [
        ...odd,
        ...Array.from({ length: drawInt(random, 50, 400) }, (_, index) => textPart(`f${index}`, "x")),
      ];
    else odd = odd.toSpliced(position, 0, drawOddPart(random));
  }
  return odd;
}

const ODD_NAMES = [
  "",
  "image",
  "image[",
  "image[]",
  "image[-1]",
  "image[1e3]",
  "image[99999999999999999999]",
  "image[00]",
  "Image",
  "images",
  "mask",
  "mask[]",
  "model",
  "prompt",
  "stream",
  "__proto__",
  "constructor",
  "sequential_image_generation_options",
  "sequential_image_generation_options[max_images]",
  "sequential_image_generation_options[__proto__]",
  "optimize_prompt_options[mode]",
  "a[b][c]",
  "é",
  'a"b',
  "a\r\nb: c",
  "x".repeat(3_000),
];
const ODD_TEXTS = [
  "",
  "true",
  "1",
  "-1",
  "1e400",
  "null",
  "{",
  '{"max_images":3}',
  '{"max_images":3,"max_images":4}',
  "[]",
  "https://images.example/a.png",
  "data:image/png;base64,iVBORw0KGgo=",
  "data:text/plain,a",
  "file:///etc/passwd",
  "\ud800",
  "\0",
  "2K",
  "x".repeat(5_000),
  "[".repeat(2_000),
];

function drawOddPart(random: Random): FormPart {
  const part = textPart(pick(random, ODD_NAMES), pick(random, ODD_TEXTS));
  if (chance(random, 0.5)) return part;
  const content = chance(random, 0.5) ? part.content : Buffer.concat([pick(random, IMAGES)[1], part.content]);
  return {
    ...part,
    content,
    file: {
      name: pick(random, FILE_NAMES),
      type: pick(random, ["image/png", "", "multipart/mixed; boundary=c"]),
    },
  };
}

function textPart(name: string, text: string): FormPart {
  return { name, content: Buffer.from(text) };
}

/** The headers of a part; one of ten is odd. */
function drawHead(random: Random, part: FormPart, line: string): string {
  const head = writeHead(part).replaceAll("\r\n", line);
  if (chance(random, 0.9)) return head;
  const name = part.name;
  return pick(random, [
    `content-disposition: form-data; name=${name}`,
    `Content-Disposition: form-data; name*=UTF-8''image`,
    `Content-Disposition: form-data; name="${name}"; filename*=UTF-8''%e5%9b%be.png`,
    `Content-Disposition: form-data; name="${name}"; filename*=UTF-8''%zz`,
    `Content-Disposition: form-data; name="${name}"; name="other"`,
    `Content-Disposition: attachment; name="${name}"`,
    `Content-Disposition: form-data`,
    `Content-Disposition:`,
    `Content-Type: image/png`,
    `${head}${line}Content-Type: image/png${line}Content-Type: text/plain`,
    `${head}${line}Content-Transfer-Encoding: base64`,
    `${head}${line}Content-Transfer-Encoding: quoted-printable`,
    `${head}${line}X-Long: ${"y".repeat(drawInt(random, 1, 20_000))}`,
    `${head}${line} folded`,
    `${head}${line}: no name`,
    `${head}${line}no colon`,
    "",
    `${"A: b\r\n".repeat(drawInt(random, 10, 2_500))}${head}`,
  ]);
}
