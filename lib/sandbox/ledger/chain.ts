import { Asset, StrKey, xdr } from "@stellar/stellar-sdk";
import { loadEngine } from "../engine.ts";
import type { Fork } from "../fork/fork.ts";
import type { Remote } from "../fork/remote.ts";
import { keyOf, sha256 } from "./bytes.ts";
import { type Closed, closeLedger, engineHeader, type Validator } from "./close.ts";
import type { Envelope } from "./envelopes.ts";
import { putGenesis } from "./genesis.ts";
import { type LedgerTip, NOTHING, protocolOf, tipOf } from "./headers.ts";
import { createHistory } from "./history.ts";
import { createImpersonation } from "./impersonation.ts";
import { type AdjustSetting, settingKey } from "./settings.ts";
import { createSignatureVerifier } from "./signatures.ts";
import { CLOSED_ONE_BY_ONE, lastSkipped } from "./skipped.ts";
import { createSnapshots } from "./snapshots.ts";
import { createResourceCheck } from "./soroban_checks.ts";
import { createLedgerState, type LedgerView, openChanges } from "./state.ts";
import { openStateFile, type StateFile } from "./state_file.ts";
import { hasHost, NEWEST_PROTOCOL, type Protocol, PROTOCOLS } from "./protocol.ts";

/** Returns the Soroban host of a protocol. */
export type EngineWasm = (protocol: Protocol) => Promise<Uint8Array | WebAssembly.Module>;

export interface ChainOptions {
  engineWasm: EngineWasm;
  /** The protocol of a new ledger. Undefined: that of the state file or of the forked network, else the newest. */
  protocolVersion: number | undefined;
  passphrase: string;
  /** Close time of the first ledger, Unix seconds. */
  startTime: number;
  retentionLedgers: number;
  /** Path of a file, or an open one. */
  stateFile: string | StateFile | undefined;
  adjustSettings: AdjustSetting | undefined;
  /** The network to continue. Absent: a new one begins. */
  fork?: Fork | undefined;
  onInternalError: (error: unknown) => void;
}

export type Chain = Awaited<ReturnType<typeof openChain>>;

/**
 * Opens the chain of ledgers and continues the state file. Without one it begins with the first ledger, or with the next
 * ledger of the forked network.
 * @throws {Error} for a protocol without a host
 */
export async function openChain(options: ChainOptions) {
  const { passphrase, retentionLedgers, stateFile, fork } = options;
  const file = typeof stateFile === "string" ? await openStateFile(stateFile, passphrase) : stateFile;
  const state = createLedgerState({ onUnknown: fork?.onUnknown });
  fork?.into(state);
  const snapshots = createSnapshots(state);
  const history = createHistory(retentionLedgers);
  const kept = new Map<string, string>();
  let tip: LedgerTip = fork === undefined ? NOTHING : { ...NOTHING, ...fork.remote.ledger };
  let view: LedgerView = state;
  const isStored = file?.load({ state, history, kept }) ?? false;
  if (isStored) tip = tipOf(history.latestLedger().headerXdr);
  const protocolVersion = isStored
    ? protocolOf(history.latestLedger().headerXdr)
    : options.protocolVersion ?? fork?.remote.protocolVersion ?? NEWEST_PROTOCOL;
  if (!hasHost(protocolVersion)) {
    file?.close();
    throw new Error(`the network must have protocol ${PROTOCOLS.join(" or ")}; got ${protocolVersion}`);
  }
  const impersonation = createImpersonation(passphrase);
  const engine = await loadEngine(await options.engineWasm(protocolVersion), (keyXdr) => {
    const key = keyOf(keyXdr);
    const stored = view.get(key);
    const held = stored && impersonation.shown(key, stored);
    return held && { entry: held.entryXdr, liveUntilLedger: held.liveUntilLedger ?? 0 };
  });
  const validator: Validator = {
    protocolVersion,
    networkId: sha256(new TextEncoder().encode(passphrase)),
    nativeAsset: StrKey.decodeContract(Asset.native().contractId(passphrase)),
    engine,
    state,
    readFrom: (changes) => view = changes ?? state,
    signatureRules: { verify: createSignatureVerifier(), isImpersonated: impersonation.has },
    impersonation,
    checkResources: createResourceCheck(engine, () => engineHeader(validator, tip, tip.closeTime)),
    onInternalError: options.onInternalError,
  };

  /** Writes to disk first, so that a ledger that cannot be written does not exist. */
  function adopt(closed: Closed): void {
    file?.save([closed], history.oldestWith([closed.record]));
    take(closed);
  }

  function take(closed: Closed): void {
    state.commit(closed.changes);
    tip = closed.tip;
    history.add(closed.record);
  }

  /**
   * Closes `count` ledgers with nothing but evictions. Of many it creates only the newest now.
   * @param closeTimeOf Unix seconds of the n-th of them, counted from 1
   */
  function skip(count: number, closeTimeOf: (n: number) => number): void {
    const skipped = Math.max(0, count - CLOSED_ONE_BY_ONE);
    let previous = tip;
    if (skipped > 0) {
      const next = { sequence: tip.sequence + skipped + 1, closeTime: closeTimeOf(skipped + 1) };
      previous = lastSkipped({ before: history.latestRecord(), next });
    }
    const made: Closed[] = [];
    for (let n = skipped + 1; n <= count; n++) {
      const evictSince = n === skipped + 1 ? tip.sequence + 1 : undefined;
      const closed = closeLedger(validator, previous, [], Math.max(previous.closeTime, closeTimeOf(n)), evictSince);
      made.push(closed);
      previous = closed.tip;
    }
    file?.save(made, history.oldestWith(made.map(({ record }) => record)));
    for (const closed of made) take(closed);
  }

  /**
   * Makes the ledger of a snapshot the latest one. Later ledgers get other hashes than the undone ones, even with the same
   * transactions, so that clients can distinguish them.
   * @throws {RangeError} for an unknown snapshot
   */
  function returnTo(name: string) {
    const { snapshot, mark } = snapshots.find(name);
    file?.returnTo(snapshot.record, state.before(mark));
    snapshots.returnTo(mark);
    history.returnTo(snapshot.record);
    tip = { ...snapshot.tip, stateHash: sha256(snapshot.tip.stateHash, tip.hash) };
    return snapshot;
  }

  if (!isStored) {
    const genesis = openChanges(state);
    const settings = await settingsOf(fork?.remote, protocolVersion, engine.defaultSettings());
    putGenesis(genesis, passphrase, tip.sequence + 1, settings, options.adjustSettings);
    const first = closeLedger(validator, tip, [], options.startTime);
    genesis.commitTo(first.changes);
    adopt(first);
  }

  return {
    validator,
    state,
    history,
    tip: () => tip,
    skip,
    /** Applies an envelope as the next ledger would, and drops the result. */
    tryOut(envelope: Envelope, closeTime: number): void {
      closeLedger({ ...validator, onInternalError: () => {} }, tip, [envelope], closeTime);
    },
    snapshot: (name: string, aheadMs: number) => snapshots.take({ name, tip, record: history.latestRecord(), aheadMs }),
    snapshots: snapshots.all,
    dropSnapshot: snapshots.drop,
    returnTo,
    /** Closes the next ledger with these envelopes. */
    append: (envelopes: Envelope[], closeTime: number) => adopt(closeLedger(validator, tip, envelopes, closeTime)),
    recall: (name: string) => kept.get(name),
    keep(name: string, text: string) {
      file?.keep(name, text);
      kept.set(name, text);
    },
    close: () => file?.close(),
  };
}

/** The settings for the costs of a host's operations. They belong to the host's protocol. */
const COST_SETTINGS = [
  xdr.ConfigSettingId.configSettingContractCostParamsCpuInstructions,
  xdr.ConfigSettingId.configSettingContractCostParamsMemoryBytes,
].map(settingKey).map(keyOf);

/** The settings of the forked network where it has them, else the defaults. Costs of another host are no use to this one. */
async function settingsOf(
  remote: Remote | undefined,
  protocolVersion: Protocol,
  defaults: { key: Uint8Array; entry: Uint8Array }[],
) {
  const isSameHost = remote?.protocolVersion === protocolVersion;
  const wanted = defaults.filter(({ key }) => isSameHost || !COST_SETTINGS.includes(keyOf(key)));
  const found = await remote?.read(wanted.map(({ key }) => keyOf(key)));
  return defaults.map(({ key, entry }) => ({ key, entry: found?.get(keyOf(key))?.entryXdr ?? entry }));
}
