import { xdr } from "@stellar/stellar-sdk/base";
import { GatewayError } from "../../errors.ts";
import type { ContractCall, ContractCalls } from "../../stellar/transactions/contract_call.ts";
import type { ContractIds } from "../contracts/errors.ts";
import { asAgentPolicy, asDeviceInfo, asHash, asI128, asU32, type Decode, returnedValue } from "../decode.ts";
import { notSimulated, traceError } from "../refusals/error_trace.ts";
import { type AsOf, type ReadSource, TRIES } from "./read_source.ts";
import { addressVal, hashVal } from "./storage_keys.ts";

/** Getters simulated at one time. */
const AT_ONCE = 8;

/** device_registry's DeviceNotFound and agent_registry's AgentNotFound. */
const NOT_FOUND = "#2";

/** Simulates the contracts' getters: slower than entries, but independent of the storage layout. */
export function createCallSource(
  { calls, contracts }: { calls: ContractCalls; contracts: ContractIds },
): ReadSource {
  const { deviceRegistry, agentRegistry, paymentEscrow } = contracts;

  async function value<T>(call: ContractCall, decode: Decode<T>): Promise<AsOf<T>> {
    const found = await valueIfFound(call, decode);
    if (found.value !== undefined) return { ledger: found.ledger, value: found.value };
    throw new GatewayError(
      "upstream_error",
      `${call.function} of ${call.contract} returned an error where it must return a value`,
    );
  }

  /** Undefined when the contract itself reports that it does not know the device. */
  async function valueIfFound<T>(call: ContractCall, decode: Decode<T>): Promise<AsOf<T | undefined>> {
    const { latestLedger, error, events = [], results } = await calls.simulate(call);
    if (error === undefined) {
      const returned = results?.[0];
      if (returned === undefined) throw new GatewayError("upstream_error", "the RPC node simulated without a result");
      return { ledger: latestLedger, value: returnedValue(returned.xdr, decode) };
    }
    const trace = traceError(events, error);
    const own = trace?.raisedBy === undefined || trace.raisedBy === call.contract;
    if (trace?.error.type === "Contract" && trace.error.code === NOT_FOUND && own) {
      return { ledger: latestLedger, value: undefined };
    }
    const called = `${call.function} of ${call.contract}`;
    if (trace === undefined) throw notSimulated(error, called);
    // No getter may refuse anything else, so this is not the expected contract.
    const { type, code } = trace.error;
    throw new GatewayError("upstream_error", `${called} failed with Error(${type}, ${code}): it is another contract`);
  }

  const ofDevice = (contract: string, name: string, deviceHash: string): ContractCall => ({
    contract,
    function: name,
    args: [hashVal(deviceHash)],
  });
  const ofAddress = (contract: string, name: string, address: string, ...more: xdr.ScVal[]): ContractCall => ({
    contract,
    function: name,
    args: [addressVal(address), ...more],
  });

  return {
    card: (deviceHash) =>
      ofOneLedger(async () => {
        const [device, policy, balance] = await Promise.all([
          valueIfFound(ofDevice(deviceRegistry, "get_device", deviceHash), asDeviceInfo),
          valueIfFound(ofDevice(agentRegistry, "get_policy", deviceHash), asAgentPolicy),
          value(ofDevice(paymentEscrow, "balance_of", deviceHash), asI128),
        ]);
        return {
          ledgers: [device.ledger, policy.ledger, balance.ledger],
          value: { device: device.value, policy: policy.value, balance: balance.value },
        };
      }),

    policy: (deviceHash) => valueIfFound(ofDevice(agentRegistry, "get_policy", deviceHash), asAgentPolicy),

    walletDevices: (wallet, atMost = Infinity) =>
      ofOneLedger(async () => {
        const count = await value(ofAddress(deviceRegistry, "wallet_device_count", wallet), asU32);
        const ledgers = [count.ledger];
        const devices: string[] = [];
        const wanted = Math.min(count.value, atMost);
        while (devices.length < wanted) {
          const indexes = Array.from({ length: Math.min(AT_ONCE, wanted - devices.length) }, (_, i) =>
            devices.length + i);
          const found = await Promise.all(indexes.map((index) => {
            return value(ofAddress(deviceRegistry, "wallet_device_at", wallet, xdr.ScVal.scvU32(index)), asHash);
          }));
          ledgers.push(...found.map(({ ledger }) =>
            ledger
          ));
          devices.push(...found.map((one) => one.value));
        }
        return { ledgers, value: { count: count.value, devices } };
      }),

    async pending(merchant) {
      const found = await value(ofAddress(paymentEscrow, "pending_balance", merchant), asI128);
      return { ledger: found.ledger, value: { total: found.value } };
    },
  };
}

/** Asks at most three times, until all parts of an answer are of one ledger. */
async function ofOneLedger<T>(ask: () => Promise<{ ledgers: number[]; value: T }>): Promise<AsOf<T>> {
  for (let tried = 0; tried < TRIES; tried += 1) {
    const { ledgers, value } = await ask();
    const ledger = ledgers[0]!;
    if (ledgers.every((one) => one === ledger)) return { ledger, value };
  }
  throw new GatewayError("upstream_error", `ledgers closed faster than the contracts could be asked, ${TRIES} times`);
}
