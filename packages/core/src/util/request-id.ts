/** Creates the id of a request: `req_` and 32 hexadecimal digits, of which 122 bits are random. */
export function createRequestId(): string {
  return `req_${crypto.randomUUID().replaceAll("-", "")}`;
}
