// Loaded before a gateway: its clock jumps at each SIGUSR2, as if an administrator or a hypervisor had set it. Timers go on.
const HOUR_MS = 3_600_000;
const JUMPS_MS = [24 * HOUR_MS, -48 * HOUR_MS, 366 * 24 * HOUR_MS, -365 * 24 * HOUR_MS];

let aheadMs = 0;
let next = 0;
process.on("SIGUSR2", () => {
  aheadMs += JUMPS_MS[next++ % JUMPS_MS.length] ?? 0;
});

const RealDate = Date;
const now = (): number => RealDate.now() + aheadMs;
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new RealDate(now()).toString(),
  get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
});
