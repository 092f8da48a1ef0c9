import type { Network } from "../network_types.ts";
import { fromBase64 } from "./base64.ts";
import type { Method, Methods, Params } from "./json_rpc.ts";

type Fork = NonNullable<Network["fork"]>;

/** The methods of a fork, which first read missing entries from the other network. */
export function readingAhead(methods: Methods, fork: Fork | undefined): Methods {
  if (fork === undefined) return methods;
  const need = (name: string) => methods.get(name) as Method;
  const completed = ["getLedgerEntries", "simulateTransaction"].map((name): [string, Method] => [
    name,
    (params) => fork.complete(() => need(name)(params)),
  ]);
  return new Map<string, Method>([
    ...methods,
    ...completed,
    ["sendTransaction", async (params) => {
      await fork.complete(() => tryOut(fork, params));
      return need("sendTransaction")(params);
    }],
  ]);
}

/** Ignores an invalid envelope, which the method itself refuses. */
function tryOut(fork: Fork, { transaction }: Params): void {
  try {
    fork.tryOut(fromBase64(String(transaction)));
  } catch {
    return;
  }
}
