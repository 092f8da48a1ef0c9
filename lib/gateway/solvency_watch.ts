import {
  createSolvency,
  isTrouble,
  lastSolvency,
  type Solvency,
  type SolvencyParts,
} from "../escrow/assets/solvency.ts";
import { GatewayError } from "../errors.ts";
import type { Log } from "../log.ts";
import { StoreError } from "../store/store.ts";

/** Compares what the escrow holds with what it owes, and logs what changed since the last comparison. */
export function watchSolvency({ logger, ...parts }: SolvencyParts & { logger: Log }) {
  const look = createSolvency(parts);
  /** The trouble of each asset. */
  const reported = new Map<string, string>();
  let unknown: Solvency["unknownBecause"] = null;

  function report({ ledger, unknownBecause, assets }: Solvency): void {
    if (unknownBecause !== unknown) {
      const not = unknownBecause === null ? "" : "not ";
      logger.info(`the gateway does ${not}know what the escrow owes`, { unknownBecause, ledger });
    }
    unknown = unknownBecause;
    for (const one of assets) {
      const { asset, held, owed, missing, frozen } = one;
      const trouble = isTrouble(one) ? `${missing !== "0"} ${frozen}` : "";
      // An amount that is not known any more ends no trouble.
      if (trouble === (reported.get(asset) ?? "") || (trouble === "" && missing === null)) continue;
      reported.set(asset, trouble);
      const fields = { asset, held, owed, missing, frozen, ledger };
      if (trouble === "") logger.info("the escrow can pay what it owes of an asset again", fields);
      else logger.warn("the escrow cannot pay all that it owes of an asset", { ...fields, todo: "docs/assets.md" });
    }
  }

  return {
    /** Compares if a comparison is due. Never rejects. */
    async look(): Promise<void> {
      try {
        const found = await look();
        if (found !== undefined) report(found);
      } catch (error) {
        // The store and the RPC client report their own errors, and a later commit looks again.
        const isExpected = error instanceof StoreError || error instanceof GatewayError;
        logger[isExpected ? "debug" : "warn"]("comparing what the escrow holds and owes failed; retrying", { error });
      }
    },
    /** The last comparison of the gateways on the store. Rejects when the store fails. */
    last: () => lastSolvency(parts.sharedState, parts.paymentEscrow),
  };
}
