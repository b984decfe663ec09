/** A result link of a provider, and the addresses of its name. */
export interface LinkInput {
  readonly link: string;
  /** The results of the first, second … lookup; the last one repeats. */
  readonly addresses: readonly (readonly string[])[];
  /** The target of the redirect, if the link leads to the provider's own server. */
  readonly redirect?: string | undefined;
  /** True if the link must be downloaded. */
  readonly isPublic: boolean;
}

const PRIVATE_V4 = [
  "127.0.0.1",
  "127.255.255.254",
  "10.0.0.1",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "169.254.169.254",
  "100.64.0.1",
  "100.100.100.200",
  "0.0.0.0",
  "0.1.2.3",
  "192.0.0.8",
  "192.0.0.192",
  "192.0.2.1",
  "198.18.0.1",
  "198.19.255.255",
  "198.51.100.7",
  "203.0.113.9",
  "224.0.0.1",
  "239.255.255.250",
  "240.0.0.1",
  "255.255.255.255",
  "192.88.99.1",
];
const PRIVATE_V6 = [
  "::",
  "::1",
  "::2",
  "fe80::1",
  "febf::1",
  "fec0::1",
  "fc00::1",
  "fd00:ec2::254",
  "fd12:3456::1",
  "ff02::1",
  "ff0e::1",
  "2001:db8::1",
  "3fff::1",
  "100::1",
  "2001::1",
  "2001:2::1",
  "2001:10::1",
  "2001:20::1",
  "5f00::1",
  "64:ff9b:1::7f00:1",
  "::ffff:0:127.0.0.1",
  "4000::1",
];
const PUBLIC = ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001:81b::200e"];

/** The fixed set of links: every address in every spelling, schemes, ports, user names, names and redirects. */
export function listLinks(ownOrigin: string): readonly LinkInput[] {
  return [
    ...PRIVATE_V4.flatMap(spellV4).map((host) => toInput(`https://${host}/a.png`)),
    ...PRIVATE_V6.flatMap(spellV6).map((host) => toInput(`https://${host}/a.png`)),
    ...["127.0.0.1", "[::1]", "169.254.169.254", "localhost"].flatMap(spellUrls).map((link) => toInput(link)),
    ...listNames(),
    ...[...PRIVATE_V4, ...PRIVATE_V6.map((address) => `[${address}]`)].map((host) => ({
      ...toInput(`${ownOrigin}/redirect`),
      redirect: `http://${host}/a.png`,
      isPublic: false,
    })),
    ...PUBLIC.map((address) =>
      toInput(`https://${address.includes(":") ? `[${address}]` : address}/a.png`, [], true),
    ),
    ...PUBLIC.map((address) => toInput("https://images.example/a.png", [[address]], true)),
  ];
}

function toInput(
  link: string,
  addresses: LinkInput["addresses"] = [["127.0.0.1"]],
  isPublic = false,
): LinkInput {
  return { link, addresses, isPublic };
}

function hex(value: number): string {
  return value.toString(16);
}

/** Spellings of an IPv4 address that browsers and resolvers read, also inside IPv6. */
function spellV4(address: string): string[] {
  const bytes = address.split(".").map(Number);
  const [a = 0, b = 0, c = 0, d = 0] = bytes;
  const number = ((a * 256 + b) * 256 + c) * 256 + d;
  const words = `${hex(a * 256 + b)}:${hex(c * 256 + d)}`;
  return [
    address,
    `${address}.`,
    String(number),
    `0x${hex(number)}`,
    `0${number.toString(8)}`,
    bytes.map((byte) => `0x${hex(byte)}`).join("."),
    bytes.map((byte) => `0${byte.toString(8)}`).join("."),
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    `0x${hex(a)}.${b}.0${c.toString(8)}.${d}`,
    address.replaceAll(".", "。"),
    address.replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    address.replaceAll(".", "%2e"),
    `%3${address.slice(0, 1)}${address.slice(1)}`,
    `[::ffff:${address}]`,
    `[::ffff:${words}]`,
    `[0:0:0:0:0:ffff:${words}]`,
    `[::${address}]`,
    `[64:ff9b::${address}]`,
    `[64:ff9b:1::${address}]`,
    `[2002:${words}::]`,
    `[2002:${words}::1]`,
    `[2001:0:${words}::1]`,
    `[2001:0:4136:e378:8000:63bf:${hex(0xffff - (a * 256 + b))}:${hex(0xffff - (c * 256 + d))}]`,
    `[fe80::5efe:${words}]`,
    `[::ffff:0:${words}]`,
  ];
}

function spellV6(address: string): string[] {
  return [
    `[${address}]`,
    `[${address.toUpperCase()}]`,
    `[${address}%25eth0]`,
    `[${address}%eth0]`,
    `[${address}].`,
    address,
    `[${address.replace("::", ":0::")}]`,
  ];
}

/** URLs of a host with other schemes, ports and user names, and URLs that parsers read differently. */
function spellUrls(host: string): string[] {
  return [
    `http://${host}/`,
    `HTTP://${host}/`,
    `https://${host}`,
    `HTTPS://${host}/`,
    `https:${host}/`,
    `https:/${host}/`,
    `https:///${host}/`,
    `https:\\\\${host}\\a`,
    `//${host}/`,
    `ftp://${host}/`,
    `file://${host}/etc/passwd`,
    `gopher://${host}:6379/_`,
    `ws://${host}/`,
    `wss://${host}/`,
    `data:image/png,${host}`,
    `javascript://${host}/`,
    `blob:https://${host}/1`,
    `view-source:https://${host}/`,
    `https://${host}:443/`,
    `https://${host}:80/`,
    `https://${host}:22/`,
    `https://${host}:6379/`,
    `https://${host}:65535/`,
    `https://${host}:0/`,
    `https://${host}:65536/`,
    `https://user@${host}/`,
    `https://user:password@${host}/`,
    `https://images.example@${host}/`,
    `https://images.example:443@${host}/`,
    `https://images.example%40${host}/`,
    `https://images.example\\@${host}/`,
    `https://${host}\\@images.example/`,
    `https://${host}#@images.example/`,
    `https://${host}?@images.example/`,
    `https://images.example#@${host}/`,
    ` https://${host}/`,
    `https://${host}/ `,
    `https://\t${host}/`,
    `ht\ntps://${host}/`,
    `https://${host}\r\n/`,
    `https://${host}%00.images.example/`,
    `https://${host}%20/`,
    `https://${host}.images.example/`,
    `https://images.example.${host}/`,
    `https://${host}/%0d%0aHost:%20x`,
    `https://${host}//images.example`,
    `https://${host}/?url=https://images.example`,
    `\u0000https://${host}/`,
    `https://\u00ad${host}/`,
    `https://${host}\u3002/`,
    `https://[${host}]/`,
    `https://${host}:/`,
  ];
}

/** Names that resolve to addresses that are not public, alone, beside public ones, or the second time. */
function listNames(): LinkInput[] {
  const names = [
    "images.example",
    "IMAGES.EXAMPLE",
    "images.example.",
    "metadata.google.internal",
    "localhost.images.example",
    "xn--nxasmq6b.example",
  ];
  const all = [
    ...PRIVATE_V4,
    ...PRIVATE_V6,
    "::ffff:127.0.0.1",
    "::ffff:a9fe:a9fe",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "fe80::1%lo",
  ];
  const byAddress = all.flatMap((address, index) => {
    const link = `https://${names[index % names.length]}/a.png`;
    const publicAddress = address.includes(":") ? "2606:4700:4700::1111" : "8.8.8.8";
    return [
      [[address]],
      [[publicAddress, address]],
      [[address, publicAddress]],
      [[publicAddress], [address]],
    ].map((addresses) => toInput(link, addresses));
  });
  const local = [
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "a.localhost.",
    "localhost.localdomain",
    "ip6-localhost",
    "broadcasthost",
  ];
  return [
    ...byAddress,
    ...local.map((name) => toInput(`https://${name}/a.png`)),
    toInput("https://images.example/a.png", [[]]),
  ];
}
