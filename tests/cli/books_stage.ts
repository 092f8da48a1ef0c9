import { nativeToScVal } from "@stellar/stellar-sdk";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assetBalanceKey, instanceKey } from "../../lib/escrow/reads/storage_keys.ts";
import { MAX_PAYMENT_ROWS } from "../../lib/store/payment.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { type BooksWorld, entryOf, timeOf } from "../escrow/books/books_world.ts";
import { CONTRACT, sampleState, watcherLease } from "../store/samples.ts";
import { type FakeIo, fakeIo } from "./fake_io.ts";
import { runCommandLine } from "../../cli/command_line.ts";

/** A store on disk with the log of a world, and a node that shows its contracts. */
export interface BooksStage {
  store: Store;
  /** Calls of the node by method. */
  calls: Map<string, number>;
  /** Runs `gateway ARGS…` on this store and node. */
  run(...args: string[]): Promise<FakeIo & { code: number }>;
  stop(): Promise<void>;
}

/** @param clawback the assets that their issuers can take back */
export async function startBooks(world: BooksWorld, { clawback = [] as string[] } = {}): Promise<BooksStage> {
  const folder = mkdtempSync(join(tmpdir(), "books-"));
  const setting = `sqlite:${join(folder, "gateway.db")}`;
  const store = await openStore(setting);
  await writeLog(store, world);
  const calls = new Map<string, number>();
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const { id, method, params } = JSON.parse(text);
    calls.set(method, (calls.get(method) ?? 0) + 1);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: answerOf(world, clawback, method, params) }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    store,
    calls,
    async run(command, ...args) {
      const io = fakeIo({
        env: { SERVICE_API_STORE: setting, SERVICE_API_RPC_URL: url },
        now: timeOf(world.ledger) * 1_000,
      });
      const code = await runCommandLine([command!, ...args], io);
      return Object.assign(io, { code });
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function writeLog(store: Store, world: BooksWorld): Promise<void> {
  const { ledger, events, payments } = world;
  const lease = await watcherLease(store);
  const state = sampleState(ledger, {
    latestLedger: ledger,
    latestLedgerCloseTime: timeOf(ledger),
    settledLedger: ledger,
    contracts: { [CONTRACT]: { fromLedger: 1, toLedger: null } },
    ...world.state,
  });
  for (let at = 0; at < events.length; at += 100) {
    await store.events.append({ lease, events: events.slice(at, at + 100), state });
  }
  for (let at = 0; at < payments.length; at += MAX_PAYMENT_ROWS) {
    await store.payments.commit({ lease, rows: payments.slice(at, at + MAX_PAYMENT_ROWS) });
  }
  const cursor = {
    epoch: 0,
    contractId: CONTRACT,
    sequence: events.length,
    latestLedger: ledger,
    settledLedger: ledger,
    gaps: [],
  };
  await store.payments.commit({ lease, rows: [], cursor });
}

function answerOf(world: BooksWorld, clawback: string[], method: string, params: { keys: string[] }): unknown {
  const { ledger } = world;
  const newest = { latestLedger: ledger, latestLedgerCloseTime: String(timeOf(ledger)) };
  switch (method) {
    case "getNetwork":
      return { passphrase: "Test SDF Network ; September 2015", protocolVersion: 28 };
    case "getLatestLedger":
      return { id: "ab".repeat(32), protocolVersion: 28, sequence: ledger, closeTime: String(timeOf(ledger)) };
    case "getHealth":
      return { status: "healthy", ...newest, oldestLedger: 1, ledgerRetentionWindow: 120_960 };
    case "getLedgerEntries": {
      const rows = world.entries();
      rows.set(instanceKey(CONTRACT), { val: nativeToScVal(0, { type: "u32" }) });
      for (const [asset, amount] of world.tokens) {
        const val = nativeToScVal({ amount, authorized: true, clawback: clawback.includes(asset) }, {
          type: { amount: ["symbol", "i128"], authorized: ["symbol"], clawback: ["symbol"] },
        });
        rows.set(assetBalanceKey(asset, CONTRACT), { val });
      }
      const entries = params.keys.flatMap((key) => {
        const row = rows.get(key);
        return row === undefined
          ? []
          : [{ key, xdr: entryOf(row.val), lastModifiedLedgerSeq: 1, liveUntilLedgerSeq: row.until ?? 100_000 }];
      });
      return { entries, latestLedger: ledger };
    }
  }
  throw new Error(`the command called ${method}`);
}
