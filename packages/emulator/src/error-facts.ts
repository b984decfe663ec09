/** An error of a provider. */
export interface ErrorFacts {
  readonly status: number;
  readonly message: string;
}

export const fact = (status: number, message: string): ErrorFacts => ({ status, message });
