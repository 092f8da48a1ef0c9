import assert from "node:assert/strict";
import { type Pair, withTwoNodes } from "./failover_story.ts";
import type { Change } from "./rpc_proxy.ts";
import type { SandboxInfo } from "./sandbox_process.ts";

const TEN_YEARS = 315_360_000;
/** The gateway asks a resting node every ten seconds: three wrong answers. */
const LIES_FOR_MS = 32_000;
const MOST_PATIENCE_MS = 60_000;

/** Changes the newest ledger in every answer that contains it. */
function saysOfNewest({ ledgers = 0, seconds = 0 }: { ledgers?: number; seconds?: number }): Change {
  const later = (time: string | number) => typeof time === "string" ? String(Number(time) + seconds) : time + seconds;
  return (result, method) => {
    const said = { ...result };
    const sequence = method === "getLatestLedger" ? "sequence" : "latestLedger";
    if (said[sequence] !== undefined) said[sequence] = Math.max(1, said[sequence] + ledgers);
    for (const time of ["latestLedgerCloseTime", "closeTime"]) {
      if (said[time] !== undefined) said[time] = later(said[time]);
    }
    return said;
  };
}

/** One wrong answer each, as seen at real nodes and proxies. */
const LIES: Record<string, Change> = {
  "a ledger far ahead": saysOfNewest({ ledgers: 1_000_000 }),
  "a ledger beyond all there can be": saysOfNewest({ ledgers: 2 ** 32 }),
  "ten years ahead": saysOfNewest({ seconds: TEN_YEARS }),
  "an hour back": saysOfNewest({ ledgers: -3_600, seconds: -3_600 }),
  "a lower ledger that closed later": saysOfNewest({ ledgers: -10_000, seconds: 30 }),
  "no event before the newest ledger": (result) => ({ ...result, oldestLedger: result.latestLedger }),
};

/**
 * The second of two nodes returns wrong answers always, and then the first once for each kind. Clients that read and pay
 * see no effect of the second node, and an effect of the first node for some seconds at most.
 */
export async function tellLiar(info: SandboxInfo, command: string[], folder: string): Promise<void> {
  await withTwoNodes(info, command, folder, async (pair) => {
    await pair.works();
    pair.second.change = saysOfNewest({ ledgers: 1_000_000, seconds: TEN_YEARS });
    for (const endsAtMs = Date.now() + LIES_FOR_MS; Date.now() < endsAtMs;) {
      await pair.works();
      await isInTime(pair);
      await new Promise((resolve) => setTimeout(resolve, 1_500));
    }
    pair.second.change = undefined;
    for (const [lie, change] of Object.entries(LIES)) await tellLie(pair, lie, change);
  });
}

async function tellLie(pair: Pair, lie: string, change: Change): Promise<void> {
  const { first, works } = pair;
  let wasTold = false;
  first.change = (result, method) => {
    // What is asked of it to judge the newest ledger.
    if (wasTold || (result.latestLedger ?? result.sequence) === undefined) return result;
    wasTold = true;
    return change(result, method);
  };
  for (const endsAtMs = Date.now() + MOST_PATIENCE_MS;;) {
    try {
      await works();
      if (wasTold) return await isInTime(pair);
    } catch (error) {
      assert.ok(Date.now() < endsAtMs, `${lie}: ${(error as Error).message}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/** Shows the network's ledger and time, and prepares for its time. */
async function isInTime({ api, info }: Pair): Promise<void> {
  const { ledger } = (await api.get("/v1/status")).body;
  const atMs = Date.parse(ledger.closedAt);
  assert.ok(Math.abs(atMs - Date.now()) < 60_000, `the newest ledger closed at ${ledger.closedAt}`);
  const { address } = info.accounts.merchant;
  const deviceHash = crypto.randomUUID().replaceAll("-", "").repeat(2);
  const operation = { kind: "registerDevice", deviceHash, agent: address };
  const prepared = await api.post("/v1/transactions/prepare", { source: address, operation });
  assert.equal(prepared.status, 200, JSON.stringify(prepared.body));
  const { validUntil } = prepared.body;
  assert.ok(Math.abs(validUntil * 1_000 - Date.now()) < 600_000, `valid until ${validUntil}`);
}
