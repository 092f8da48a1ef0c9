import { xdr } from "@stellar/stellar-sdk/base";
import type { Clock } from "../../clock.ts";
import { nodeXdr } from "../transactions/node_xdr.ts";
import type { EntryReader } from "./entries.ts";

const KEY = xdr.LedgerKey.configSetting(
  new xdr.LedgerKeyConfigSetting({ configSettingId: xdr.ConfigSettingId.configSettingStateArchival }),
).toXdr("base64");
/** The public network's, where it can't be read. */
const USUAL_LEDGERS = 17_280;
const CACHED_MS = 600_000;

/** How many ledgers a temporary entry lives at the least (CAP-46-12): the network's setting, read every ten minutes. */
export function createShortestLife({ entries, clock }: {
  entries: EntryReader;
  clock: Pick<Clock, "monotonicMs">;
}): () => Promise<number> {
  let ledgers = USUAL_LEDGERS;
  let cachedUntilMs = -Infinity;

  return async function shortestLife() {
    if (clock.monotonicMs() < cachedUntilMs) return ledgers;
    const { entries: [setting] } = await entries.read([KEY]);
    ledgers = setting === undefined ? USUAL_LEDGERS : nodeXdr("the network's settings", () => {
      const data = xdr.LedgerEntryData.fromXdr(setting.xdr, "base64");
      if (data.type !== "configSetting" || data.configSetting.type !== "configSettingStateArchival") {
        throw new TypeError("got another setting than was asked for");
      }
      return data.configSetting.stateArchivalSettings.minTemporaryTtl;
    });
    cachedUntilMs = clock.monotonicMs() + CACHED_MS;
    return ledgers;
  };
}
