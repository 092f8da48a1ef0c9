import { StrKey } from "@stellar/stellar-sdk";
import { AlreadyFunded, type Network } from "../network_types.ts";
import { INVALID_PARAMS, invalidParams, JsonRpcError, type Method, type Params } from "./json_rpc.ts";
import { readInteger, readString } from "./params.ts";

/** Ten years. */
const MAX_SECONDS = 315_360_000;
const NAME = /^[\w.-]{1,64}$/;

/** The sandbox's own methods, by which a developer controls time and state of the network. */
const SANDBOX_METHODS: ReadonlyMap<string, (network: Network, params: Params) => unknown> = new Map<
  string,
  (network: Network, params: Params) => unknown
>([
  ["sandbox_advance", advance],
  ["sandbox_snapshot", snapshot],
  ["sandbox_revert", revert],
  ["sandbox_fund", fund],
]);

/** `SANDBOX_METHODS` of a network. They refuse unless `isAllowed`. */
export function sandboxMethods(network: Network, isAllowed: boolean): [string, Method][] {
  return [...SANDBOX_METHODS].map(([name, method]) => [
    name,
    (params) => {
      if (isAllowed) return method(network, params);
      throw new JsonRpcError(INVALID_PARAMS, `${name} is only for programs on the sandbox's own machine`);
    },
  ]);
}

/** `sandbox_advance {seconds | ledgers}`: moves the clock and closes the ledgers of that time. */
function advance(network: Network, params: Params) {
  const seconds = readInteger(params, "seconds", MAX_SECONDS);
  const ledgers = readInteger(params, "ledgers");
  if ((seconds === 0) === (ledgers === 0)) throw invalidParams("either seconds or ledgers must be 1 or more");
  const before = network.latestLedger().sequence;
  const { sequence, closeTime } = refusing(() => network.advance(seconds === 0 ? { ledgers } : { seconds }));
  return { ledgers: sequence - before, latestLedger: sequence, latestLedgerCloseTime: String(closeTime) };
}

/** `sandbox_snapshot {name}` */
function snapshot(network: Network, params: Params) {
  const name = readName(params);
  const { sequence } = refusing(() => network.snapshot(name));
  return { name, ledger: sequence, snapshots: network.snapshots() };
}

/** `sandbox_revert {name}` */
function revert(network: Network, params: Params) {
  const name = readName(params);
  const { sequence, closeTime } = refusing(() => network.revert(name));
  return {
    name,
    latestLedger: sequence,
    latestLedgerCloseTime: String(closeTime),
    snapshots: network.snapshots(),
  };
}

/** `sandbox_fund {address}`: pays like the friendbot, but an address with enough lumens is no error. */
async function fund(network: Network, params: Params) {
  const address = readString(params, "address");
  if (!StrKey.isValidEd25519PublicKey(address) && !StrKey.isValidContract(address)) {
    throw invalidParams(`address must be an account (G…) or a contract (C…); got ${JSON.stringify(address)}`);
  }
  try {
    const { hash, ledger } = await network.fund(address);
    return { address, paid: true, hash, ledger };
  } catch (error) {
    if (error instanceof AlreadyFunded) return { address, paid: false };
    throw error;
  }
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
