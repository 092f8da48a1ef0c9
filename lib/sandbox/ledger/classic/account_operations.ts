import { xdr } from "@stellar/stellar-sdk";
import {
  accountKeyXdr,
  accountOf,
  canReceive,
  extensionsOf,
  loadAccount,
  startingSequence,
  storeAccount,
  withFields,
  withSequence,
} from "../accounts.ts";
import { movementEvent, recipientIdOf } from "../asset_events.ts";
import { NATIVE } from "../assets.ts";
import { createXdrWriter, sameBytes } from "../bytes.ts";
import { loadEntry, storeEntry } from "../classic_entries.ts";
import { addSubentry, isSponsoring, removeSponsored, removeSubentry, withoutSigners } from "../reserves.ts";
import { operationResult } from "../results.ts";
import { failure, type OperationContext, type OperationOutcome, refusal, success } from "./operation.ts";
import { ACCOUNT_RESERVES, AUTH_IMMUTABLE, LEDGER_ENTRY_TYPES } from "../protocol.ts";

const BUMP_SEQUENCE = { badSequence: -1 };
const MANAGE_DATA = { nameNotFound: -2, lowReserve: -3, invalidName: -4 };
const ACCOUNT_MERGE = {
  malformed: -1,
  noAccount: -2,
  immutableSet: -3,
  hasSubentries: -4,
  sequenceTooFar: -5,
  destinationFull: -6,
  isSponsor: -7,
};

export function checkBumpSequence({ bumpTo }: xdr.BumpSequenceOp): Uint8Array | undefined {
  return bumpTo < 0n ? operationResult("bumpSequence", BUMP_SEQUENCE.badSequence) : undefined;
}

export function bumpSequence({ bumpTo }: xdr.BumpSequenceOp, context: OperationContext): OperationOutcome {
  const { changes, ledgerSequence, closeTime } = context;
  const source = loadAccount(changes, context.source);
  if (!source) return refusal("opNO_ACCOUNT");
  const sequence = bumpTo > source.seqNum ? bumpTo : source.seqNum;
  storeAccount(changes, withSequence(source, sequence, ledgerSequence, closeTime), ledgerSequence);
  return success("bumpSequence");
}

export function checkManageData({ dataName }: xdr.ManageDataOp): Uint8Array | undefined {
  return isValidDataName(dataName) ? undefined : operationResult("manageData", MANAGE_DATA.invalidName);
}

export function isValidDataName({ bytes }: xdr.XdrString): boolean {
  return bytes.length > 0 && bytes.every((byte) => byte >= 0x20 && byte <= 0x7e);
}

/** Writes a data entry of the account, or removes it without a value. */
export function manageData({ dataName, dataValue }: xdr.ManageDataOp, context: OperationContext): OperationOutcome {
  const { changes, source, ledgerSequence } = context;
  const keyXdr = createXdrWriter().uint32(LEDGER_ENTRY_TYPES.data).uint32(0).raw(source).opaque(dataName.bytes)
    .finish();
  const held = loadEntry(changes, keyXdr);
  const owner = loadAccount(changes, source);
  if (!owner) return refusal("opNO_ACCOUNT");
  if (!dataValue) {
    if (!held) return failure("manageData", MANAGE_DATA.nameNotFound);
    removeSubentry(keyXdr, held, owner, context);
    return success("manageData");
  }
  const ext = held ? held.ext : addSubentry(owner, context);
  if (ext === "too_many_subentries") return refusal("opTOO_MANY_SUBENTRIES");
  if (ext === "low_reserve") return failure("manageData", MANAGE_DATA.lowReserve);
  const data = new xdr.DataEntry({ accountId: owner.accountId, dataName, dataValue, ext: xdr.DataEntryExt.v0() });
  storeEntry(changes, keyXdr, xdr.LedgerEntryData.data(data), ledgerSequence, ext);
  return success("manageData");
}

export function checkAccountMerge(destination: xdr.MuxedAccount, source: Uint8Array): Uint8Array | undefined {
  const malformed = sameBytes(accountOf(destination), source);
  return malformed ? operationResult("accountMerge", ACCOUNT_MERGE.malformed) : undefined;
}

/** Closes the source account and moves all its lumens to the destination. */
export function mergeAccount(destination: xdr.MuxedAccount, context: OperationContext): OperationOutcome {
  const { changes, source: sourceId, ledgerSequence, networkId, memo } = context;
  const receiver = loadAccount(changes, accountOf(destination));
  if (!receiver) return failure("accountMerge", ACCOUNT_MERGE.noAccount);
  const keyXdr = accountKeyXdr(sourceId);
  const entry = loadEntry(changes, keyXdr);
  const source = loadAccount(changes, sourceId);
  if (!source || !entry) return refusal("opNO_ACCOUNT");
  const problem = mergeProblem(source, context);
  if (problem !== undefined) return failure("accountMerge", problem);
  const { balance } = source;
  if (!canReceive(receiver, balance)) return failure("accountMerge", ACCOUNT_MERGE.destinationFull);
  storeAccount(changes, withFields(receiver, { balance: receiver.balance + balance }), ledgerSequence);
  withoutSigners(source, [], context);
  removeSponsored(keyXdr, entry, ACCOUNT_RESERVES, context);
  const event = movementEvent({
    networkId,
    asset: NATIVE,
    from: { account: sourceId },
    to: { account: accountOf(destination) },
    amount: balance,
    recipientId: recipientIdOf(destination, memo),
  });
  return success("accountMerge", [event], createXdrWriter().int64(balance).finish());
}

function mergeProblem(source: xdr.AccountEntry, context: OperationContext): number | undefined {
  if ((source.flags & AUTH_IMMUTABLE) !== 0) return ACCOUNT_MERGE.immutableSet;
  if (source.numSubEntries !== source.signers.length) return ACCOUNT_MERGE.hasSubentries;
  // A new account at this address would start at a sequence number that may be used.
  if (source.seqNum >= startingSequence(context.ledgerSequence)) return ACCOUNT_MERGE.sequenceTooFar;
  const isSponsor = extensionsOf(source).numSponsoring > 0 || isSponsoring(context.source, context);
  return isSponsor ? ACCOUNT_MERGE.isSponsor : undefined;
}
