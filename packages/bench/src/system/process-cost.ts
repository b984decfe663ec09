import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";

const KIB = 1024;
/** Resets the kernel's peak of a process's memory; see proc_pid_clear_refs(5). */
const RESET_PEAK = "5";

/** Whether the cost of other processes can be read on this system. */
export function canReadCost(): boolean {
  return process.platform === "linux";
}

/** CPU time of a process and its children since their start, in milliseconds, of all threads. */
export function readCpuMs(pid: number): number {
  return withChildren(pid).reduce((sum, each) => sum + readThreadsMs(each), 0);
}

/** The peak memory of a process and its children together since {@link resetPeak}, in bytes. */
export function readPeakBytes(pid: number): number {
  return withChildren(pid).reduce((sum, each) => sum + readStatus(each, "VmHWM"), 0);
}

/** The current memory of a process, in bytes. */
export function readHeldBytes(pid: number): number {
  return withChildren(pid).reduce((sum, each) => sum + readStatus(each, "VmRSS"), 0);
}

/** Resets the peaks if the kernel allows it. Otherwise they remain those since the start of the process. */
export function resetPeak(pid: number): void {
  for (const each of withChildren(pid)) {
    try {
      writeFileSync(`/proc/${each}/clear_refs`, RESET_PEAK);
    } catch {
      // The peak since the start is also correct, but higher.
    }
  }
}

/** How many clock ticks of `/proc/<pid>/stat` a second has. */
const TICKS = 100;

/**
 * CPU time of a server and of all processes that it has started, in milliseconds: also of those that have ended, with a resolution of
 * 10 ms.
 */
export function readServerCpuMs(pid: number): number {
  for (;;) {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      const [user = 0, system = 0] = fields.slice(13, 15).map(Number);
      return readCpuMs(pid) + ((user + system) * 1000) / TICKS;
    } catch (error) {
      // One of its processes has ended meanwhile. Its time is now in the sums of those that have ended.
      if (!existsSync(`/proc/${pid}`)) throw error;
    }
  }
}

function withChildren(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  return [pid, ...children.filter(Boolean).map(Number).flatMap(withChildren)];
}

/**
 * The scheduler counts nanoseconds for each thread. The counts of a process have a resolution of hundredths of a
 * second.
 */
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
