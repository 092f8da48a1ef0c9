import { xdr } from "@stellar/stellar-sdk/base";
import type { Clock } from "../clock.ts";
import type { EntryReader } from "./entries.ts";
import { askNewest } from "./fresh_read.ts";
import type { Head } from "./head.ts";
import type { RpcClient } from "./rpc/client.ts";
import { nodeXdr } from "./transactions/node_xdr.ts";

/** Time and pace of ledgers, to date a future one. */
export interface LedgerTimes {
  /** Close time of the newest ledger, Unix seconds. */
  seconds: number;
  /** Seconds from one ledger to the next, on average. */
  pace: number;
}

export interface LedgerClock {
  /**
   * Close time of the newest ledger, Unix seconds: a contract's "now". Asks a node only when that time is not known.
   * @throws {GatewayError} `upstream_error`
   */
  closeTime(): number | Promise<number>;
  /** Time and pace of the ledgers. @throws {GatewayError} `upstream_error` when no node reports a close time */
  times(): Promise<LedgerTimes>;
  /**
   * The shortest life of a temporary entry, in ledgers (CAP-46-12). A setting of the network, cached for ten minutes.
   */
  shortestLife(): Promise<number>;
}

const LIFE_KEY = xdr.LedgerKey.configSetting(
  new xdr.LedgerKeyConfigSetting({ configSettingId: xdr.ConfigSettingId.configSettingStateArchival }),
).toXdr("base64");
/** The public network's, used when the setting is missing. */
const USUAL_LIFE = 17_280;
/** The public network's target, in seconds. */
const USUAL_PACE = 5;
const CACHED_MS = 600_000;
/** Pause after a useless answer. */
const PAUSE_MS = 5_000;

/** Reads when ledgers close, and how long entries live. */
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

  /** Leaves the pace unchanged when the node fails, is not at the head, or reports no times. */
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
          throw new TypeError("got a setting that was not requested");
        }
        return data.configSetting.stateArchivalSettings.minTemporaryTtl;
      });
      life = { ledgers, cachedUntilMs: monotonicMs() + CACHED_MS };
      return ledgers;
    },
  };
}
