import { WITHOUT_ADDRESSES, WITHOUT_CAUSES } from "../cannot.ts";
import { findGateway, type Served } from "../host.ts";
import { isProviderAddresses } from "../provider-addresses.ts";
import { runSuite } from "../suite.ts";

/** The third argument of `fetch` on Workers. */
interface WorkerContext {
  waitUntil(work: Promise<unknown>): void;
}

const gateways = new Map<string, Served>();

/** A worker that serves gateways. A POST to `/` with the providers' addresses runs the suite. */
export default {
  async fetch(
    request: Request,
    bindings: { readonly version: string },
    context: WorkerContext,
  ): Promise<Response> {
    const { origin, pathname } = new URL(request.url);
    if (pathname === "/") return startSuite(request, { origin, version: bindings.version });
    const gateway = findGateway(gateways, request.url);
    if (gateway === undefined) return new Response(null, { status: 404 });
    return gateway.fetch(request, { waitUntil: (work) => context.waitUntil(work) });
  },
};

async function startSuite(
  request: Request,
  { origin, version }: { origin: string; version: string },
): Promise<Response> {
  const addresses: unknown = await request.json();
  if (!isProviderAddresses(addresses)) throw new Error("Post the addresses of the providers.");
  const host = {
    runtime: `workerd ${version}`,
    transport: "fetch",
    origin,
    gateways,
    cannot: { ...WITHOUT_ADDRESSES, ...WITHOUT_CAUSES },
  } as const;
  const lines = runSuite(host, addresses);
  const encoder = new TextEncoder();
  return new Response(
    new ReadableStream({
      async pull(controller) {
        const { done, value } = await lines.next();
        if (done === true) controller.close();
        else controller.enqueue(encoder.encode(`${value}\n`));
      },
    }),
  );
}
