/** Why an address must not be connected to ("a private address"), undefined when it is a public one. */
export function refusedAs(_address: string): string | undefined {
  return undefined;
}
