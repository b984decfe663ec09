/** Milliseconds. All but the first are times of the CPU, which other programs of the machine change less. */
export interface Cost {
  readonly wall: number;
  readonly cpu: number;
  /** For how long the process did nothing else. */
  readonly longestTurn: number;
}

/** Measures what some work costs this process. */
export async function measureCost(work: () => Promise<unknown>): Promise<Cost> {
  let longestTurn = 0;
  let turnBegan = readCpu();
  const watch = (): void => {
    longestTurn = Math.max(longestTurn, readCpu() - turnBegan);
    turnBegan = readCpu();
  };
  const timer = setInterval(watch, 1);
  const [began, cpuBegan] = [performance.now(), readCpu()];
  try {
    await work();
    watch();
    return { wall: performance.now() - began, cpu: readCpu() - cpuBegan, longestTurn };
  } finally {
    clearInterval(timer);
  }
}

/** What this thread has used of the CPU, in milliseconds. */
function readCpu(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
