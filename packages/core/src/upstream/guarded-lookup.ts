import { type LookupAddress, lookup as resolve } from "node:dns";
import type { LookupFunction } from "node:net";
import { isPublicAddress } from "./public-address.js";

/**
 * A resolver that fails when any address of a name is not public. It runs when the connection is made,
 * so a name cannot show one address to a check and another to the connection.
 */
export const guardedLookup: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, []);
    const problem = findProblem(hostname, addresses);
    if (problem !== undefined) return callback(problem, []);
    const [first] = addresses;
    if (options.all === true || first === undefined) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};

function findProblem(hostname: string, addresses: readonly LookupAddress[]): Error | undefined {
  const hidden = addresses.find(({ address }) => !isPublicAddress(address));
  return hidden && new Error(`${hostname} has an address that is not public.`);
}
