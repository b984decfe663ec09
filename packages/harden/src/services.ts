import { canUse, type Service, urlOf } from "@calotype/conformance/support/service";

/**
 * The address of a server that some parts need. `undefined`: it is not there, and a line says so.
 *
 * @throws Error instead, with `CI=true`
 */
export async function findService(service: Service): Promise<string | undefined> {
  const url = urlOf(service);
  return (await canUse(service, url)) ? url : undefined;
}
