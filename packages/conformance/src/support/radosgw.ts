import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import type { S3Server } from "../results/describe-s3.ts";
import { findFreePort } from "./find-free-port.ts";
import type { Service } from "./needs-service.ts";
import { run } from "./run.ts";

/** The programs of Ceph, which Debian has in the packages radosgw, ceph-mon and ceph-osd. The address is the gateway's path. */
export const RADOSGW: Service = {
  name: "the program radosgw of Ceph, with ceph-mon and ceph-osd",
  variable: "RADOSGW",
  url: "radosgw",
  probe: async (program) => {
    for (const needed of [program, "ceph-mon", "ceph-osd"]) run(needed, ["--version"], tmpdir());
  },
};

const KEYS = { accessKeyId: "an-access-key", secretAccessKey: "a-secret-access-key" };
const PATIENCE_MS = 120_000;

/** Starts Ceph's gateway for S3 on a cluster of one monitor and one store in memory. */
export async function startRadosgw(program: string): Promise<S3Server> {
  const folder = mkdtempSync(join(tmpdir(), "calotype-ceph-"));
  for (const name of ["monitor", "store"]) mkdirSync(join(folder, name));
  const [cluster, store] = [randomUUID(), randomUUID()];
  const [monitorPort, port] = [await findFreePort(), await findFreePort()];
  const config = join(folder, "ceph.conf");
  writeFileSync(config, configure({ folder, cluster, monitorPort, port }));

  const processes: ChildProcess[] = [];
  const start = (name: string, ...args: readonly string[]): void => {
    processes.push(spawn(name, ["--conf", config, "-f", ...args], { stdio: "ignore" }));
  };
  const call = (name: string, ...args: readonly string[]): string =>
    run(name, ["--conf", config, ...args], folder);
  const close = async (): Promise<void> => {
    for (const child of processes.toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    rmSync(folder, { recursive: true, force: true });
  };

  try {
    const map = join(folder, "monmap");
    const address = `[v2:127.0.0.1:${monitorPort}]`;
    run("monmaptool", ["--create", "--fsid", cluster, "--addv", "a", address, map], folder);
    call("ceph-mon", "--mkfs", "-i", "a", "--monmap", map);
    start("ceph-mon", "-i", "a");
    call("ceph", "osd", "new", store, "0");
    call("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", store);
    start("ceph-osd", "-i", "0");
    await until(() => call("ceph", "osd", "stat").includes("1 up"));
    const user = ["--uid", "tester", "--display-name", "tester"];
    const keys = ["--access-key", KEYS.accessKeyId, "--secret-key", KEYS.secretAccessKey];
    call("radosgw-admin", "user", "create", ...user, ...keys);
    start(program, "-n", "client.gateway");
    const endpoint = `http://127.0.0.1:${port}`;
    await until(async () => (await fetch(endpoint).catch(() => undefined))?.ok === true);
    const sdk = new S3Client({ endpoint, region: "us-east-1", credentials: KEYS, forcePathStyle: true });
    await sdk.send(new CreateBucketCommand({ Bucket: "pictures" }));
    sdk.destroy();
    return { endpoint, bucket: "pictures", ...KEYS, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Without authentication inside of the cluster, without copies, and with the fewest parts. */
function configure(plan: {
  readonly folder: string;
  readonly cluster: string;
  readonly monitorPort: number;
  readonly port: number;
}): string {
  const { folder, cluster, monitorPort, port } = plan;
  return `[global]
fsid = ${cluster}
mon host = v2:127.0.0.1:${monitorPort}
mon initial members = a
public addr = 127.0.0.1
ms bind ipv6 = false
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
ms mon service mode = crc
ms mon cluster mode = crc
mon allow pool size one = true
mon data avail crit = 1
mon max pg per osd = 1000
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 1073741824
mon data = ${folder}/monitor
osd data = ${folder}/store
run dir = ${folder}
log file = ${folder}/$name.log
admin socket = ${folder}/$name.asok
rgw frontends = beast endpoint=127.0.0.1:${port}
`;
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + PATIENCE_MS;
  while (!(await isTrue())) {
    if (performance.now() > endsAt) throw new Error("A server of Ceph did not start.");
    await sleep(200);
  }
}
