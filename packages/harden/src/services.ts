import { canUse, type Service, urlOf } from "@calotype/conformance/support/service";

/**
 * Returns the address of a database server, or `undefined` if it cannot be reached. Then a line is printed.
 *
 * @throws Error if the server cannot be reached and `CI=true`
 */
export async function findService(service: Service): Promise<string | undefined> {
  const url = urlOf(service);
  return (await canUse(service, url)) ? url : undefined;
}
