import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { checkPlan } from "./cells.ts";
import { moveTo } from "./start-nginx.ts";

/** The fields of a service that the tests check. */
interface Service {
  readonly image?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly stop_grace_period?: string;
  readonly restart?: string;
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, null>>;
}

/** The fields that the file may use. All of them are in the Compose specification. */
const FIELDS = new Set(
  "image build command environment ports volumes depends_on healthcheck stop_grace_period restart".split(" "),
);
const read = (name: string): string => readFileSync(join(import.meta.dirname, name), "utf8");
const dockerfile = read("Dockerfile");
const portOfGateways = /PORT=(\d+)/.exec(dockerfile)?.[1];

/** The fleets with their services. */
const FLEETS = [
  ["compose.yaml", "nginx.conf", "redis postgres gateway-1 gateway-2 nginx"],
  [
    "compose.cells.yaml",
    "nginx-cells.conf",
    "redis-1 redis-2 postgres-1 postgres-2 gateway-1 gateway-2 gateway-3 gateway-4 nginx",
  ],
] as const;

describe.each(FLEETS)("%s", (file, nginxFile, names) => {
  const { services, volumes }: Compose = parse(read(file), { merge: true });
  const gateways = Object.entries(services).filter(([name]) => name.startsWith("gateway-"));
  const nginx = read(nginxFile);

  it("has stores, gateways and nginx, and only fields that Compose knows", () => {
    expect(Object.keys(services)).toEqual(names.split(" "));
    const fields = Object.values(services).flatMap((service) => Object.keys(service));
    expect(fields.filter((field) => !FIELDS.has(field))).toEqual([]);
    for (const { image, build } of Object.values(services)) {
      expect([image, build].filter((source) => source !== undefined)).toHaveLength(1);
    }
  });

  it("waits only for existing services with a health check", () => {
    for (const { depends_on = {} } of Object.values(services)) {
      for (const [name, { condition }] of Object.entries(depends_on)) {
        expect(services[name]?.healthcheck?.test[0]).toBe("CMD");
        expect(condition).toBe("service_healthy");
      }
    }
  });

  it("mounts only files of this folder and volumes that it declares", () => {
    for (const volume of Object.values(services).flatMap((service) => service.volumes ?? [])) {
      const [source = ""] = volume.split(":");
      const isThere = source.startsWith(".")
        ? existsSync(join(import.meta.dirname, source))
        : source in volumes;
      expect({ volume, isThere }).toEqual({ volume, isThere: true });
    }
  });

  it("builds the gateways from this Dockerfile, which runs the same program as start.ts", () => {
    for (const [, { build }] of gateways) expect(build).toEqual({ context: ".", dockerfile: "Dockerfile" });
    const [, program = ""] = /^CMD \["node", "(.+)"\]$/m.exec(dockerfile) ?? [];
    expect(program).toBe("gateway.ts");
    expect(read("start.ts")).toContain('new URL("gateway.ts", import.meta.url)');
  });

  it("sets only variables that the gateways read, with the addresses of the other services", () => {
    const known = read("gateway.ts") + read("options.ts");
    for (const [, { environment = {} }] of gateways) {
      expect(Object.keys(environment).filter((name) => !known.includes(name))).toEqual([]);
      for (const url of [environment["REDIS_URL"], environment["DATABASE_URL"]]) {
        expect(services).toHaveProperty(new URL(url ?? "").hostname);
      }
      const { hostname, password } = new URL(environment["DATABASE_URL"] ?? "");
      expect(password).toBe(services[hostname]?.environment?.["POSTGRES_PASSWORD"]);
    }
  });

  it("gives gateways and nginx more time to end than they need", () => {
    for (const [, { environment = {}, stop_grace_period = "" }] of gateways) {
      const { DRAIN_SECONDS, SHUTDOWN_SECONDS } = environment;
      expect(parseInt(stop_grace_period, 10)).toBe(Number(DRAIN_SECONDS) + Number(SHUTDOWN_SECONDS) + 5);
      expect(services["nginx"]?.stop_grace_period).toBe(stop_grace_period);
    }
  });

  it("checks the health of the gateways at their port", () => {
    for (const [, { healthcheck }] of gateways) {
      const url = /'(http.+?)'/.exec(healthcheck?.test.join(" ") ?? "")?.[1];
      expect(url).toBe(`http://127.0.0.1:${portOfGateways}/readyz`);
    }
    expect(read("gateway.ts")).toContain('"/readyz"');
  });

  it("forwards to its gateways, and listens at the published port", () => {
    const upstreams = [...nginx.matchAll(/server (gateway-\d+):(\d+)/g)].map(
      ([, name, port]) => `${name}:${port}`,
    );
    expect([...new Set(upstreams)]).toEqual(gateways.map(([name]) => `${name}:${portOfGateways}`));
    const [, port] = /listen (\d+);/.exec(nginx) ?? [];
    expect(services["nginx"]?.ports).toEqual([`127.0.0.1:8080:${port}`]);
  });

  it("differs only in the addresses of nginx when it runs without containers", () => {
    const ports = gateways.map((_, index) => 9001 + index);
    const moved = moveTo(nginx, { port: 9000, gateways: ports });
    expect(moved).not.toMatch(/gateway-\d/);
    const back = moved
      .replace("listen 127.0.0.1:9000;", "listen 8080;")
      .replaceAll(/127\.0\.0\.1:900(\d)/g, "gateway-$1:8787");
    expect(back).toBe(nginx);
  });
});

const settingsOf = (text: string): string[] =>
  text.split("\n").flatMap((line) => /^ *((?:proxy|client|keepalive|least)_.+;)$/.exec(line)?.[1] ?? []);

describe("compose.cells.yaml", () => {
  const { services }: Compose = parse(read("compose.cells.yaml"), { merge: true });

  it("gives each cell of cells.json two gateways that nginx knows, and stores of its own", () => {
    const { cells } = checkPlan(JSON.parse(read("cells.json")));
    const places = cells.map((cell) => {
      const [block = ""] = new RegExp(`^upstream ${cell} {[^}]*}`, "m").exec(read("nginx-cells.conf")) ?? [];
      const members = Object.entries(services).filter(
        ([, { environment }]) => environment?.["CELL"] === cell,
      );
      const named = [...block.matchAll(/server ([\w-]+)/g)].map(([, name]) => name);
      expect(named).toEqual(members.map(([name]) => name));
      expect(named).toHaveLength(2);
      return ["REDIS_URL", "DATABASE_URL", "REDIS_PREFIX"].map((variable) => {
        const values = new Set(members.map(([, { environment }]) => environment?.[variable]));
        expect(values.size).toBe(1);
        return [...values][0];
      });
    });
    expect(new Set(places.flat()).size).toBe(3 * cells.length);
  });

  it("mounts the folder in which the gateways find cells.json", () => {
    expect(services["gateway-1"]).toMatchObject({
      volumes: [".:/fleet:ro"],
      environment: { CELLS_FILE: "/fleet/cells.json" },
    });
  });

  it("has the settings of nginx.conf for requests", () => {
    const usual = settingsOf(read("nginx.conf")).filter((line) => !line.startsWith("proxy_pass "));
    expect(usual.filter((line) => !settingsOf(read("nginx-cells.conf")).includes(line))).toEqual([]);
  });
});
