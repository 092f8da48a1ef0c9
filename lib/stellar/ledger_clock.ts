import { xdr } from "@stellar/stellar-sdk/base";
import type { Clock } from "../clock.ts";
import type { EntryReader } from "./entries.ts";
import { askNewest } from "./fresh_read.ts";
import type { Head } from "./head.ts";
import type { RpcClient } from "./rpc/client.ts";
import { nodeXdr } from "./transactions/node_xdr.ts";

/** What a ledger that is still to come can be dated by. */
export interface LedgerTimes {
  /** Close time of the newest ledger, Unix seconds. */
  seconds: number;
  /** Seconds from one ledger to the next, on average. */
  pace: number;
}

export interface LedgerClock {
  /**
   * Close time of the newest ledger, Unix seconds: what a contract takes for now. Asks a node only when the newest ledger was
   * seen without a time. @throws {GatewayError} `upstream_error`
   */
  closeTime(): number | Promise<number>;
  /** The ledgers' time and pace. @throws {GatewayError} `upstream_error` when no node says when the newest ledger closed */
  times(): Promise<LedgerTimes>;
  /** How many ledgers a temporary entry lives at the least (CAP-46-12): the network's setting, read every ten minutes. */
  shortestLife(): Promise<number>;
}

const LIFE_KEY = xdr.LedgerKey.configSetting(
  new xdr.LedgerKeyConfigSetting({ configSettingId: xdr.ConfigSettingId.configSettingStateArchival }),
).toXdr("base64");
/** The public network's, where it can't be read. */
const USUAL_LIFE = 17_280;
/** What the public network aims at. */
const USUAL_PACE = 5;
const CACHED_MS = 600_000;
/** After an answer that is of no use. */
const PAUSE_MS = 5_000;

/** When ledgers close, and how long entries live in them. */
export function createLedgerClock({ rpc, head, entries, clock: { monotonicMs } }: {
  rpc: Pick<RpcClient, "getHealth" | "getLatestLedger">;
  head: Pick<Head, "sequence" | "closeTime" | "isTimed" | "networkSeconds">;
  entries: Pick<EntryReader, "read">;
  clock: Pick<Clock, "monotonicMs">;
}): LedgerClock {
  let pace = { seconds: USUAL_PACE, cachedUntilMs: -Infinity };
  let life = { ledgers: USUAL_LIFE, cachedUntilMs: -Infinity };
  let asked: Promise<number> | undefined;

  async function askForTime(): Promise<number> {
    await askNewest(rpc);
    return head.closeTime === 0 ? head.networkSeconds() : head.closeTime;
  }

  /** A node that does not say it, can't be asked, or is not at the head leaves the pace as it is. */
  async function readPace(): Promise<void> {
    pace = { ...pace, cachedUntilMs: monotonicMs() + PAUSE_MS };
    const health = await rpc.getHealth().catch(() => undefined);
    const { latestLedger, oldestLedger, latestLedgerCloseTime: latest, oldestLedgerCloseTime: oldest } = health ?? {};
    if (latestLedger !== head.sequence || latest !== head.closeTime) return;
    const ledgers = latestLedger - oldestLedger!;
    const average = oldest === undefined || ledgers <= 0 ? 0 : (latest - oldest) / ledgers;
    pace = { seconds: average > 0 ? average : pace.seconds, cachedUntilMs: monotonicMs() + CACHED_MS };
  }

  function closeTime(): number | Promise<number> {
    if (head.isTimed) return head.closeTime;
    return asked ??= askForTime().finally(() => asked = undefined);
  }

  return {
    closeTime,
    async times() {
      if (monotonicMs() >= pace.cachedUntilMs) await readPace();
      return { seconds: await closeTime(), pace: pace.seconds };
    },
    async shortestLife() {
      if (monotonicMs() < life.cachedUntilMs) return life.ledgers;
      const { entries: [setting] } = await entries.read([LIFE_KEY]);
      const ledgers = setting === undefined ? USUAL_LIFE : nodeXdr("the network's settings", () => {
        const data = xdr.LedgerEntryData.fromXdr(setting.xdr, "base64");
        if (data.type !== "configSetting" || data.configSetting.type !== "configSettingStateArchival") {
          throw new TypeError("got another setting than was asked for");
        }
        return data.configSetting.stateArchivalSettings.minTemporaryTtl;
      });
      life = { ledgers, cachedUntilMs: monotonicMs() + CACHED_MS };
      return ledgers;
    },
  };
}
