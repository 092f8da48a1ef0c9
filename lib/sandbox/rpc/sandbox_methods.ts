import { StrKey } from "@stellar/stellar-sdk";
import { didYouMean } from "../../nearest.ts";
import { breaksHashChain } from "../ledger/skipped.ts";
import { AlreadyFunded, type Network } from "../network_types.ts";
import { INVALID_PARAMS, invalidParams, JsonRpcError, type Method, type Params } from "./json_rpc.ts";
import { readBoolean, readInteger, readString } from "./params.ts";

/** Ten years. */
const MAX_SECONDS = 315_360_000;
const NAME = /^[\w.-]{1,64}$/;
const LUMENS = /^(\d{1,11})(?:\.(\d{1,7}))?$/;

interface SandboxMethod {
  /** The params that it takes. */
  takes: string[];
  run(network: Network, params: Params): unknown;
}

/** The sandbox's own methods, by which a developer controls time and state of the network. */
const SANDBOX_METHODS: Record<string, SandboxMethod> = {
  sandbox_advance: { takes: ["seconds", "ledgers", "keepTime"], run: advance },
  sandbox_snapshot: { takes: ["name"], run: snapshot },
  sandbox_snapshots: { takes: ["drop"], run: snapshots },
  sandbox_revert: { takes: ["name"], run: revert },
  sandbox_fund: { takes: ["address", "amount"], run: fund },
  sandbox_impersonate: { takes: ["address"], run: impersonate },
  sandbox_stopImpersonating: { takes: ["address"], run: stopImpersonating },
  sandbox_status: { takes: [], run: status },
};

/** `SANDBOX_METHODS` of a network. They refuse unless `isAllowed`. */
export function sandboxMethods(network: Network, isAllowed: boolean): [string, Method][] {
  return Object.entries(SANDBOX_METHODS).map(([name, { takes, run }]) => [
    name,
    (params) => {
      if (!isAllowed) {
        throw new JsonRpcError(INVALID_PARAMS, `${name} is only for programs on the sandbox's own machine`);
      }
      refuseUnknown(params, takes);
      return run(network, params);
    },
  ]);
}

/** A misspelt parameter would otherwise change nothing, without a word. */
function refuseUnknown(params: Params, takes: string[]): void {
  const unknown = Object.keys(params).find((name) => !takes.includes(name));
  if (unknown === undefined) return;
  const expected = takes.length > 0 ? `parameters must be some of ${takes.join(", ")}` : "it takes no parameters";
  throw invalidParams(`${expected}; got ${JSON.stringify(unknown)}${didYouMean(unknown, takes)}`);
}

/**
 * `sandbox_advance {seconds | ledgers, keepTime?}`: moves the clock and closes the ledgers of that time, one for every five
 * seconds. `keepTime` closes ledgers without moving the clock. After more than 2 001 ledgers `hashChain` is `broken`: hashes
 * then form chains of 1 000 ledgers.
 */
function advance(network: Network, params: Params) {
  const seconds = readInteger(params, "seconds", MAX_SECONDS);
  const ledgers = readInteger(params, "ledgers");
  const keepTime = readBoolean(params, "keepTime");
  if ((seconds === 0) === (ledgers === 0)) throw invalidParams("either seconds or ledgers must be 1 or more");
  if (keepTime && ledgers === 0) throw invalidParams("keepTime must come with ledgers; got seconds");
  const before = network.latestLedger().sequence;
  const { sequence, closeTime } = refusing(() => network.advance(seconds === 0 ? { ledgers, keepTime } : { seconds }));
  const closed = sequence - before;
  return {
    ledgers: closed,
    latestLedger: sequence,
    latestLedgerCloseTime: String(closeTime),
    hashChain: breaksHashChain(closed) ? "broken" : "whole",
  };
}

/** `sandbox_snapshot {name}` */
function snapshot(network: Network, params: Params) {
  const name = readName(params);
  const { sequence } = refusing(() => network.snapshot(name));
  return { name, ledger: sequence, snapshots: namesOf(network) };
}

const namesOf = (network: Network) => network.snapshots().map(({ name }) => name);

/** `sandbox_snapshots {drop?}`: lists the snapshots, after dropping the named one. */
function snapshots(network: Network, params: Params) {
  const name = params.drop === undefined ? undefined : readString(params, "drop");
  if (name !== undefined) refusing(() => network.dropSnapshot(name));
  return { snapshots: network.snapshots() };
}

/** `sandbox_revert {name}` */
function revert(network: Network, params: Params) {
  const name = readName(params);
  const { sequence, closeTime } = refusing(() => network.revert(name));
  return {
    name,
    latestLedger: sequence,
    latestLedgerCloseTime: String(closeTime),
    snapshots: namesOf(network),
  };
}

/**
 * `sandbox_fund {address, amount?}`: pays like the friendbot, but an address with enough lumens is no error. An `amount`, in
 * lumens as text, is paid in any case.
 */
async function fund(network: Network, params: Params) {
  const address = readString(params, "address");
  if (!StrKey.isValidEd25519PublicKey(address) && !StrKey.isValidContract(address)) {
    throw invalidParams(`address must be an account (G…) or a contract (C…); got ${JSON.stringify(address)}`);
  }
  try {
    const { hash, ledger } = await network.fund(address, readAmount(params));
    return { address, paid: true, hash, ledger };
  } catch (error) {
    if (error instanceof AlreadyFunded) return { address, paid: false };
    throw error;
  }
}

/** `sandbox_impersonate {address}`: the account's envelopes and authorisations need no signature from now on. */
function impersonate(network: Network, params: Params) {
  network.impersonate(readAccount(params));
  return { impersonated: network.impersonated() };
}

/** `sandbox_stopImpersonating {address}` */
function stopImpersonating(network: Network, params: Params) {
  const address = readAccount(params);
  if (network.stopImpersonating(address)) return { impersonated: network.impersonated() };
  const accounts = network.impersonated().join(", ") || "(none)";
  throw invalidParams(`address must be one of the impersonated accounts ${accounts}; got ${JSON.stringify(address)}`);
}

/** The host checks the authorisation of a contract address by the contract's own code, so it cannot be impersonated. */
function readAccount(params: Params): string {
  const address = readString(params, "address");
  if (StrKey.isValidEd25519PublicKey(address)) return address;
  throw invalidParams(`address must be an account (G…); got ${JSON.stringify(address)}`);
}

/** `sandbox_status`: what distinguishes this network from a real one now. `laterEntries` are of a later moment than the fork. */
function status(network: Network) {
  const { fork } = network;
  return {
    latestLedger: network.latestLedger().sequence,
    protocolVersion: network.protocolVersion,
    impersonated: network.impersonated(),
    ...(fork && { fork: { ledger: fork.ledger, laterEntries: fork.laterEntries() } }),
  };
}

/** In stroops; undefined when absent. */
function readAmount({ amount }: Params): bigint | undefined {
  if (amount === undefined || amount === null) return undefined;
  const [, lumens, stroops = ""] = (typeof amount === "string" ? LUMENS.exec(amount) : null) ?? [];
  const sum = lumens === undefined ? 0n : BigInt(lumens + stroops.padEnd(7, "0"));
  if (sum > 0n) return sum;
  throw invalidParams(`amount must be lumens as text, such as "250.5"; got ${JSON.stringify(amount)}`);
}

function readName(params: Params): string {
  const name = readString(params, "name");
  if (NAME.test(name)) return name;
  throw invalidParams(`name must be 1 to 64 letters, digits, dots, dashes or underscores; got ${JSON.stringify(name)}`);
}

/** Turns a RangeError of the network into an error of the params. */
function refusing<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw error instanceof RangeError ? new JsonRpcError(INVALID_PARAMS, error.message) : error;
  }
}
