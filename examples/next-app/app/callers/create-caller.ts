"use server";

import { hashApiKey, isGatewayError } from "@calotype/core";
import { getGateway } from "../gateway.ts";
import { readField } from "../read-field.ts";

/** The new key, which is shown once, or why there is none. */
export type Created =
  | { readonly key: string; readonly error?: undefined }
  | { readonly key?: undefined; readonly error: string };

/** Creates a caller for whoever knows CALOTYPE_OPERATOR_KEY. Replace this check by the sign-in of your app. */
export async function createCaller(form: FormData): Promise<Created> {
  const operator = process.env["CALOTYPE_OPERATOR_KEY"];
  // Compares hashes, so that the duration reveals nothing about the key.
  if (!operator || hashApiKey(readField(form, "operator")) !== hashApiKey(operator)) {
    return { error: "The operator's key is wrong, or CALOTYPE_OPERATOR_KEY is not set." };
  }
  const amount = readField(form, "budget");
  try {
    const { key } = await getGateway().callers.create(
      { id: readField(form, "id"), ...(amount !== "" && { budget: { amount, period: "month" } }) },
      { by: "the page /callers" },
    );
    return { key };
  } catch (error) {
    if (isGatewayError(error)) return { error: error.message };
    throw error;
  }
}
