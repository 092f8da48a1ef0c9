import { xdr } from "@stellar/stellar-sdk";
import { sha256, toHex } from "../../lib/sandbox/ledger/bytes.ts";
import { type LedgerTip, nextHeader, NOTHING, txSetXdr } from "../../lib/sandbox/ledger/headers.ts";
import type { LedgerRecord } from "../../lib/sandbox/ledger/records.ts";
import type { NetworkImage } from "./network_image.ts";

/**
 * Returns the image as if all its ledgers had closed at this Unix second, with the hashes that follow from it. So a restored
 * network does not look like one that slept since the image was made.
 */
export function closedAt(image: NetworkImage, closeTime: number): NetworkImage {
  let previous: LedgerTip = NOTHING;
  const ledgers = image.ledgers.map((record): LedgerRecord => {
    const { header } = xdr.LedgerHeaderHistoryEntry.fromXdr(record.headerXdr);
    const { headerXdr, tip } = nextHeader({
      protocolVersion: header.ledgerVersion,
      previous,
      closeTime,
      feePool: header.feePool,
      txSetHash: sha256(txSetXdr(previous.hash, record.transactions)),
      txSetResultHash: header.txSetResultHash.value,
      stateHash: header.bucketListHash.value,
    });
    previous = tip;
    return { ...record, closeTime, headerXdr, hash: toHex(tip.hash) };
  });
  return { ...image, ledgers };
}
