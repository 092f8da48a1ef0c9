import type { Config } from "../../lib/config.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Fetch } from "../../lib/stellar/rpc/transport.ts";
import type { Resolve } from "../../lib/webhooks/targets/dns.ts";
import { examineContracts } from "./contracts.ts";
import { type Finding, skip } from "./findings.ts";
import { examineKeys } from "./keys.ts";
import { examineNodes, historyFinding } from "./node.ts";
import { examinePort, examineTarget } from "./reach.ts";
import { examineSecrets, examineStore, readingStore } from "./store.ts";

export interface ExaminationParts {
  config: Config;
  /** A webhook's URL to check. Undefined: none. */
  target: string | undefined;
  fetch: Fetch;
  resolve: Resolve;
  clock: Clock;
}

/** Runs all checks that need valid settings, and yields each finding at once. Changes nothing. */
export async function* examine(parts: ExaminationParts): AsyncGenerator<Finding> {
  const { config, target, fetch, resolve, clock } = parts;
  const examined = await examineStore(config);
  const { store, isServed } = examined;
  try {
    yield* examined.findings;
    yield await readingStore("api keys", () => examineKeys(config, examined, clock.now()));
    yield await readingStore("webhook secrets", () => examineSecrets(config, examined));
    yield await examinePort(config, isServed, fetch);
    const node = yield* examineNodes(parts);
    if (node === undefined) {
      for (const check of ["clock and ledger", "history", "contracts"]) {
        yield skip(check, "no node of this network answers");
      }
    } else {
      const { health } = node;
      yield store === undefined && !examined.isNew
        ? skip("history", "the store could not be read")
        : await readingStore("history", async () =>
          historyFinding(await store?.events.watcherState(), health, isServed));
      yield* examineContracts({ ...parts, rpc: node.rpc, head: node.head, store });
    }
    if (target !== undefined) yield await examineTarget(target, resolve);
  } finally {
    await store?.close();
  }
}
