import type { AssetList } from "../escrow/assets/asset_list.ts";
import { type BypassMovement, type BypassMovements, createBypassMovements } from "../escrow/assets/bypass_movements.ts";
import type { Log } from "../log.ts";
import type { Store } from "../store/store.ts";

/** Most warnings, one for each asset and reason. Strangers can repeat such movements, so further ones are only counted. */
const MAX_WARNINGS = 100;

/** Follows the event log, and logs one warning for each unaccepted asset and reason. */
export function watchUnacceptedAssets({ store, contractIds, assets, log }: {
  store: Pick<Store, "events">;
  /** The contracts of the settings. */
  contractIds: readonly string[];
  assets: AssetList;
  log: Log;
}): BypassMovements {
  const warned = new Set<string>();

  function warn({ event, because }: BypassMovement): void {
    const { id, type, ledger, asset, deviceHash, merchant } = event;
    const key = `${because} ${asset}`;
    if (warned.has(key) || warned.size >= MAX_WARNINGS) return;
    warned.add(key);
    const fields = { because, asset, event: id, type, ledger, deviceHash, merchant };
    log.warn("movement in an unaccepted asset: the escrow's balance of other assets may be at risk", {
      ...fields,
      todo: "read docs/guards.md; /v1/status and the metrics count further movements of this asset",
    });
  }

  const movements = createBypassMovements({ log: store.events, contractIds, assets, onForeign: warn });
  return {
    found: movements.found,
    // The store reports its own errors, and the next commit retries.
    look: () => movements.look().catch(() => {}),
  };
}
