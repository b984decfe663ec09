import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

const MAX_TRIES = 200;
const PAUSE_MS = 50;

/** Waits until a program listens on a port. @throws after ten seconds */
export async function waitForPort(port: number): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    if (await canConnect(port)) return;
    await pause(PAUSE_MS);
  }
  throw new Error(`No program listens on port ${port}.`);
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
