/** The error of a failed call. */
export async function failureOf(call: PromiseLike<unknown>): Promise<unknown> {
  let outcome: unknown;
  try {
    outcome = await call;
  } catch (error) {
    return error;
  }
  throw new Error(`The call did not fail but gave ${JSON.stringify(outcome)}`);
}
