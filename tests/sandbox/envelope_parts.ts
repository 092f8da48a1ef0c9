/** Parts of the envelopes that tests submit. */
import type { FeeBumpTransaction, Keypair, Transaction } from "@stellar/stellar-sdk";
import { Asset, Operation, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { alice, bob, fund, keypair, signed, startNetwork, type TestNetwork } from "./sandbox_network.ts";

/** Has 150 stroops above the reserve. */
export const poor = keypair("poor");
/** Has no account. */
export const nobody = keypair("nobody");

/** Stroops as an amount of the SDK, in lumens. */
export const amountOf = (stroops: bigint): string =>
  `${stroops / 10_000_000n}.${(stroops % 10_000_000n).toString().padStart(7, "0")}`;

/** A payment of native stroops. */
export const pay = (destination: Keypair, stroops = 1n, source?: Keypair) =>
  Operation.payment({
    destination: destination.publicKey(),
    asset: Asset.native(),
    amount: amountOf(stroops),
    ...(source && { source: source.publicKey() }),
  });

export const create = (account: Keypair, startingBalance: string, source?: Keypair) =>
  Operation.createAccount({
    destination: account.publicKey(),
    startingBalance,
    ...(source && { source: source.publicKey() }),
  });

export const merge = (destination: Keypair) => Operation.accountMerge({ destination: destination.publicKey() });
export const raw = (body: xdr.OperationBody) => new xdr.Operation({ sourceAccount: null, body });

/** SetOptions with fields that the SDK rejects. */
export function setOptions(fields: Partial<ConstructorParameters<typeof xdr.SetOptionsOp>[0]>): xdr.Operation {
  const empty = Operation.setOptions({});
  assert.ok(empty.body.type === "setOptions");
  return raw(xdr.OperationBody.setOptions(new xdr.SetOptionsOp({ ...empty.body.setOptionsOp, ...fields })));
}

/** A fee bump that the payer signs. The fee is the SDK's: stroops for each operation and one more. */
export const feeBump = (network: SandboxNetwork, payer: Keypair, fee: string, inner: Transaction): FeeBumpTransaction =>
  signed(TransactionBuilder.buildFeeBumpTransaction(payer, fee, inner, network.passphrase), payer);

/** The unsigned transaction with fields that the SDK's builder rejects. */
export function altered(
  network: SandboxNetwork,
  transaction: Transaction,
  fields: Partial<ConstructorParameters<typeof xdr.Transaction>[0]>,
): Transaction {
  const envelope = transaction.toEnvelope();
  assert.ok(envelope.type === "envelopeTypeTx");
  const tx = new xdr.Transaction({ ...envelope.v1.tx, ...fields });
  const v1 = new xdr.TransactionV1Envelope({ tx, signatures: [] });
  return TransactionBuilder.fromXdr(xdr.TransactionEnvelope.envelopeTypeTx(v1), network.passphrase) as Transaction;
}

export const muxed = (pair: Keypair, id: bigint) =>
  xdr.MuxedAccount.keyTypeMuxedEd25519(new xdr.MuxedAccountMed25519({ id, ed25519: pair.rawPublicKey() }));

/** A network with accounts of alice, bob and poor. */
export async function startFundedNetwork(): Promise<TestNetwork> {
  const started = await startNetwork();
  await fund(started.network, alice, bob);
  started.clock.seconds += 10;
  started.network.closeLedger();
  started.run(alice, create(poor, "1.0000150"));
  return started;
}
