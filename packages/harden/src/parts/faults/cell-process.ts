// Runs cells on the release of Node that runs this process.
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { CERTIFICATE } from "./certificate.ts";
import type { CellReply, CellRequest } from "./node-release.ts";
import { runCell } from "./run-cell.ts";

setDefaultCACertificates([...getCACertificates("default"), CERTIFICATE]);

process.on("message", (request: CellRequest) => void reply(request));

async function reply({ number, cell, services }: CellRequest): Promise<void> {
  const message: CellReply = { number, result: await runCell(cell, services) };
  process.send?.(message);
}
