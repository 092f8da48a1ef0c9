import { Keypair, SorobanDataBuilder, type Transaction, xdr } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import type { Sandbox } from "../../lib/sandbox/bootstrap.ts";
import { sha256 } from "../../lib/sandbox/ledger/bytes.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { altered } from "./envelope_parts.ts";
import { startReadyNetwork } from "./ready_network.ts";
import { address, bytes, call, prepare, signed } from "./sandbox_network.ts";

export const hashOf = (name: string) => sha256(new TextEncoder().encode(name));

export interface ContractNetwork {
  network: SandboxNetwork;
  sandbox: Sandbox;
  owner: Keypair;
  agent: Keypair;
}

/** A network with the three contracts. */
export async function startContractNetwork(): Promise<ContractNetwork> {
  const { network, sandbox } = await startReadyNetwork();
  const { owner, agent } = sandbox.accounts;
  return { network, sandbox, owner: Keypair.fromSecret(owner.secret), agent: Keypair.fromSecret(agent.secret) };
}

/** What a test changes of a contract transaction: in what it declares, and then in the transaction. */
export interface Alterations {
  data?: (data: SorobanDataBuilder) => void;
  tx?: (tx: xdr.Transaction) => Partial<ConstructorParameters<typeof xdr.Transaction>[0]>;
}

/** A transaction as simulation made it, with these changes; yet to be signed. */
export function alteredSoroban(network: SandboxNetwork, prepared: Transaction, { data, tx: change }: Alterations) {
  const envelope = prepared.toEnvelope();
  assert.ok(envelope.type === "envelopeTypeTx" && envelope.v1.tx.ext.type === "sorobanData");
  const builder = new SorobanDataBuilder(envelope.v1.tx.ext.sorobanData);
  data?.(builder);
  const ext = xdr.TransactionExt.sorobanData(builder.build());
  const tx = new xdr.Transaction({ ...envelope.v1.tx, ext });
  return altered(network, prepared, { ext, ...change?.(tx) });
}

/** The owner's registration of a card with these changes, signed. */
export function alteredRegistration({ network, sandbox, owner, agent }: ContractNetwork, alterations: Alterations) {
  const register = call(
    sandbox.contracts.deviceRegistry,
    "register",
    address(owner.publicKey()),
    bytes(hashOf("card")),
    address(agent.publicKey()),
  );
  return signed(alteredSoroban(network, prepare(network, owner, register), alterations), owner);
}

/** Keys of so many contract codes, none of which exists. */
export const codeKeys = (count: number) =>
  Array.from(
    { length: count },
    (_, i) => xdr.LedgerKey.contractCode(new xdr.LedgerKeyContractCode({ hash: hashOf(`code ${i}`) })),
  );
