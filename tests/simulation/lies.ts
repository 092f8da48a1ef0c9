import { xdr } from "@stellar/stellar-sdk/base";
import { LIMITS } from "../../lib/stellar/observe.ts";
import type { Owner, World } from "./world.ts";

/** What one answer may say that is wrong. */
export const LIES = ["higher", "lower", "time", "hash", "notFound", "account"] as const;
export type Lie = typeof LIES[number];

/** What a JSON-RPC method answers. */
export type Answer = Record<string, unknown>;

/** The answer to `asker` with a lie in it. Undefined: it does not fit. */
export function bend(
  lie: Lie,
  method: string,
  answer: Answer,
  { world, asker }: { world: World; asker: Owner },
): Answer | undefined {
  const isLatest = method === "getLatestLedger";
  const [height, time] = isLatest ? ["sequence", "closeTime"] : ["latestLedger", "latestLedgerCloseTime"];
  const by = (field: string, steps: number[]) => {
    if (answer[field] === undefined) return undefined;
    return { ...answer, [field]: Math.max(1, Number(answer[field]) + world.random.pick(steps)) };
  };
  if (lie === "higher") return by(height!, [1_000_000, 2 ** 32]);
  if (lie === "lower") return by(height!, [-1, -50, -900]);
  if (lie === "time") {
    const bent = by(time!, [3_600, 86_400 * 3_650, -3_600]);
    return bent === undefined || isOfClock(Number(bent[time!]), asker) ? undefined : bent;
  }
  if (lie === "hash" && method === "getLedgers") {
    const ledgers = (answer.ledgers as Answer[]).map((ledger) => ({ ...ledger, hash: "e".repeat(64) }));
    return { ...answer, ledgers };
  }
  if (lie === "notFound" && method === "getTransaction" && answer.status !== "NOT_FOUND") {
    const { ledger: _ledger, envelopeXdr: _envelope, ...rest } = answer;
    return { ...rest, status: "NOT_FOUND" };
  }
  if (lie !== "account" || method !== "getLedgerEntries") return undefined;
  const entries = answer.entries as Answer[];
  const others = entries.filter(({ key }) => xdr.LedgerKey.fromXdr(String(key), "base64").type !== "account");
  return others.length < entries.length ? { ...answer, entries: others } : undefined;
}

/** Whether the asker's clock says this time and is wrong by as much: whoever has no third witness takes it for the truth. */
function isOfClock(closeTime: number, asker: Owner): boolean {
  return Math.abs(closeTime - asker.wallMs() / 1_000) <= LIMITS.aheadSeconds;
}
