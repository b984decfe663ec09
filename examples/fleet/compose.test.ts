import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
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
const { services, volumes }: Compose = parse(read("compose.yaml"), { merge: true });
const dockerfile = read("Dockerfile");
const nginx = read("nginx.conf");
const gateways = Object.entries(services).filter(([name]) => name.startsWith("gateway-"));
const portOfGateways = /PORT=(\d+)/.exec(dockerfile)?.[1];

describe("compose.yaml", () => {
  it("has Redis, PostgreSQL, two gateways and nginx, and only fields that Compose knows", () => {
    expect(Object.keys(services)).toEqual(["redis", "postgres", "gateway-1", "gateway-2", "nginx"]);
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
    const known = read("gateway.ts");
    for (const [, { environment = {} }] of gateways) {
      expect(Object.keys(environment).filter((name) => !known.includes(name))).toEqual([]);
      for (const url of [environment["REDIS_URL"], environment["DATABASE_URL"]]) {
        expect(services).toHaveProperty(new URL(url ?? "").hostname);
      }
      expect(environment["DATABASE_URL"]).toContain(
        `:${services["postgres"]?.environment?.["POSTGRES_PASSWORD"]}@`,
      );
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
});

describe("nginx.conf", () => {
  it("forwards to the gateways of compose.yaml, and listens at the published port", () => {
    const upstreams = [...nginx.matchAll(/server (gateway-\d+):(\d+)/g)].map(([, name, port]) => [
      name,
      port,
    ]);
    expect(upstreams).toEqual(gateways.map(([name]) => [name, portOfGateways]));
    const [, port] = /listen (\d+);/.exec(nginx) ?? [];
    expect(services["nginx"]?.ports).toEqual([`127.0.0.1:8080:${port}`]);
  });

  it("differs only in its addresses when it runs without containers", () => {
    const moved = moveTo(nginx, { port: 9000, gateways: [9001, 9002] });
    expect(moved).not.toMatch(/gateway-\d/);
    const back = moved
      .replace("listen 127.0.0.1:9000;", "listen 8080;")
      .replace("127.0.0.1:9001", "gateway-1:8787")
      .replace("127.0.0.1:9002", "gateway-2:8787");
    expect(back).toBe(nginx);
  });
});
