import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const KIB = 1024;
/** Makes the kernel forget the peak of a process's memory; see proc_pid_clear_refs(5). */
const RESET_PEAK = "5";

/** Whether this system tells what other processes cost. */
export function canReadCost(): boolean {
  return process.platform === "linux";
}

/** CPU time of a process and its children, all threads, since their start. Milliseconds. */
export function readCpuMs(pid: number): number {
  return withChildren(pid).reduce((sum, each) => sum + readThreadsMs(each), 0);
}

/** The most memory that a process and its children held, together, since {@link resetPeak}. Bytes. */
export function readPeakBytes(pid: number): number {
  return withChildren(pid).reduce((sum, each) => sum + readStatus(each, "VmHWM"), 0);
}

/** What a process holds now. Bytes. */
export function readHeldBytes(pid: number): number {
  return withChildren(pid).reduce((sum, each) => sum + readStatus(each, "VmRSS"), 0);
}

/** From here on peaks are measured anew, where the kernel allows it; else they are those of the process's life. */
export function resetPeak(pid: number): void {
  for (const each of withChildren(pid)) {
    try {
      writeFileSync(`/proc/${each}/clear_refs`, RESET_PEAK);
    } catch {
      // The peak since the start is no less true, only higher.
    }
  }
}

function withChildren(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  return [pid, ...children.filter(Boolean).map(Number).flatMap(withChildren)];
}

/** The scheduler counts in nanoseconds, thread by thread; the counts of a process end at hundredths of a second. */
function readThreadsMs(pid: number): number {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder).reduce((sum, thread) => {
    const [nanoseconds] = readFileSync(`${folder}/${thread}/schedstat`, "utf8").split(" ");
    return sum + Number(nanoseconds) / 1e6;
  }, 0);
}

function readStatus(pid: number, name: string): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0) * KIB;
}
