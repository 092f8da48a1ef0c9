/** A network with the three contracts, and the calls that tests make there. */
import { Keypair, SorobanDataBuilder, type Transaction, xdr } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { bootstrapSandbox, type Sandbox } from "../../lib/sandbox/bootstrap.ts";
import type { Protocol } from "../../lib/sandbox/ledger/protocol.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { altered } from "./envelope_parts.ts";
import { startReadyNetwork } from "./ready_network.ts";
import {
  address,
  bytes,
  call,
  contractCode,
  hashOf,
  i128,
  prepare,
  signed,
  startNetwork,
  u64,
} from "./sandbox_network.ts";

/** The keypairs of a sandbox's named accounts. */
export function holdersOf({ accounts: { owner, agent, merchant } }: Sandbox) {
  const [ownerPair, agentPair, merchantPair] = [owner, agent, merchant].map(({ secret }) => Keypair.fromSecret(secret));
  return { owner: ownerPair!, agent: agentPair!, merchant: merchantPair! };
}

/** The calls in the life of a card. */
export function cardCalls({ contracts, asset, accounts }: Sandbox, cardHash = hashOf("card")) {
  const { deviceRegistry, agentRegistry, paymentEscrow } = contracts;
  const [owner, agent, merchant] = [accounts.owner, accounts.agent, accounts.merchant].map((one) =>
    address(one.address)
  ) as [xdr.ScVal, xdr.ScVal, xdr.ScVal];
  const [card, token] = [bytes(cardHash), address(asset)];
  return {
    register: () => call(deviceRegistry, "register", owner, card, agent),
    revoke: () => call(deviceRegistry, "revoke", owner, card),
    getOwner: () => call(deviceRegistry, "get_owner", card),
    registerAgent: (dailyCap = 0n) =>
      call(agentRegistry, "register_agent", owner, card, agent, i128(dailyCap), token, u64(0n)),
    fund: (amount: bigint) => call(paymentEscrow, "fund_escrow", token, owner, card, i128(amount)),
    defund: (amount: bigint) => call(paymentEscrow, "defund_escrow", token, card, i128(amount)),
    authorize: (amount: bigint, nonce: bigint) =>
      call(paymentEscrow, "authorize", agent, card, merchant, token, i128(amount), u64(nonce)),
    pendingBalance: () => call(paymentEscrow, "pending_balance", merchant),
    claim: () => call(paymentEscrow, "claim", token, merchant),
  };
}

export type ContractNetwork = Awaited<ReturnType<typeof startContractNetwork>>;

/** A network with the contracts. One of another protocol than the newest sets them up by transactions. */
export async function startContractNetwork(protocolVersion?: Protocol) {
  const ready = protocolVersion === undefined ? await startReadyNetwork() : await deployedNetwork(protocolVersion);
  return { ...ready, ...holdersOf(ready.sandbox), calls: cardCalls(ready.sandbox) };
}

async function deployedNetwork(protocolVersion: Protocol) {
  const started = await startNetwork({ protocolVersion });
  return { ...started, sandbox: bootstrapSandbox(started.network, { contracts: contractCode() }) };
}

/** Changes of a contract transaction: of the declared data first, then of the transaction. */
export interface Alterations {
  data?: (data: SorobanDataBuilder) => void;
  tx?: (tx: xdr.Transaction) => Partial<ConstructorParameters<typeof xdr.Transaction>[0]>;
}

/** A simulated transaction with these changes. It is unsigned. */
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
export function alteredRegistration({ network, owner, calls }: ContractNetwork, alterations: Alterations) {
  return signed(alteredSoroban(network, prepare(network, owner, calls.register()), alterations), owner);
}

const codeKey = (n: number) => xdr.LedgerKey.contractCode(new xdr.LedgerKeyContractCode({ hash: hashOf(`code ${n}`) }));

/** Ledger keys of contract codes that do not exist. */
export const codeKeys = (count: number) => Array.from({ length: count }, (_, n) => codeKey(n));
