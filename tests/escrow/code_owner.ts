import { Address, hash, type Keypair, Operation, xdr } from "@stellar/stellar-sdk";
import type { ContractIds } from "../../lib/escrow/contracts/errors.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { addressOf, applyNow, callNow } from "../sandbox/past_the_gateway.ts";
import { contractCode } from "../sandbox/sandbox_network.ts";
import { PERSISTENT, wasmOf } from "./wasm_by_hand.ts";

/** A tag of the owner's, for the code of a contract. */
const TAG = "pay/1";

/** A contract whose `set(tag, hash)` stores the hash of a wasm as an external executable (CAP-85). */
function codeOwner(): Uint8Array<ArrayBuffer> {
  const [two, three, one] = [0, 1, 2];
  // create_executable_tag, put_contract_data
  const [createTag, put] = [0, 1];
  return wasmOf({
    protocol: 28,
    parameters: [2, 3, 1],
    imports: [["l", "h", one], ["l", "_", three]],
    functions: [{ name: "set", type: two, body: [0x20, 0, 0x10, createTag, 0x20, 1, ...PERSISTENT, 0x10, put] }],
  });
}

/** An escrow whose code another contract chooses. */
export interface ExternalEscrow {
  contracts: ContractIds;
  /** The contract that chooses it. */
  codeOwner: string;
  tag: string;
  /** Makes the hash of this wasm the escrow's code. */
  choose(wasm: Uint8Array): void;
}

/** Deploys an escrow by reference, and initialises it with the registries. */
export function deployExternalEscrow(network: SandboxNetwork, source: Keypair, contracts: ContractIds): ExternalEscrow {
  const address = new Address(source.publicKey());
  const created = (options: Parameters<typeof Operation.createCustomContract>[0]) =>
    returnedContract(network, applyNow(network, source, Operation.createCustomContract(options)));
  const wasm = codeOwner();
  applyNow(network, source, Operation.uploadContractWasm({ wasm }));
  const owner = created({ address, wasmHash: hash(wasm) });
  const choose = (code: Uint8Array) => {
    const tag = xdr.ScVal.scvString(TAG);
    callNow(network, source, owner, "set", tag, xdr.ScVal.scvBytes(hash(code)));
  };
  choose(contractCode().paymentEscrow);
  const paymentEscrow = created({ address, externalRef: { owner, tag: TAG } });
  const registries = [addressOf(contracts.agentRegistry), addressOf(contracts.deviceRegistry)];
  callNow(network, source, paymentEscrow, "initialize", addressOf(source), ...registries);
  return { contracts: { ...contracts, paymentEscrow }, codeOwner: owner, tag: TAG, choose };
}

export function returnedContract(network: SandboxNetwork, transaction: string): string {
  const meta = xdr.TransactionMeta.fromXdr(network.transaction(transaction)!.resultMetaXdr);
  if (meta.type !== "v4") throw new Error(`got meta ${meta.type}`);
  return Address.fromScVal(meta.v4.sorobanMeta!.returnValue!).toString();
}

/** Whether this is the key of the entry with the code's hash. */
export function keepsTag(keyXdr: string): boolean {
  const key = xdr.LedgerKey.fromXdr(keyXdr, "base64");
  return key.type === "contractData" && key.contractData.key.type === "scvExecutableTag";
}
