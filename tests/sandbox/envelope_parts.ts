import { Asset, Keypair, Operation, type Transaction, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { apply, build, fund, keypair, signed, startNetwork, type TestNetwork } from "./sandbox_network.ts";

export const alice = keypair("alice");
export const bob = keypair("bob");
/** Has 150 stroops above the reserve. */
export const poor = keypair("poor");
/** Has no account. */
export const nobody = keypair("nobody");

/** A payment of so many stroops. */
export const pay = (destination: Keypair, stroops = 1n, source?: string) =>
  Operation.payment({
    destination: destination.publicKey(),
    asset: Asset.native(),
    amount: `${stroops / 10_000_000n}.${(stroops % 10_000_000n).toString().padStart(7, "0")}`,
    ...(source && { source }),
  });

/** The same transaction with fields changed that the SDK's builder does not let through. */
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

/** A network with accounts of alice, bob and poor. */
export async function startFundedNetwork(): Promise<TestNetwork> {
  const { network, clock } = await startNetwork();
  await fund(network, alice, bob);
  clock.seconds += 10;
  network.closeLedger();
  apply(
    network,
    signed(
      build(network, alice, [
        Operation.createAccount({ destination: poor.publicKey(), startingBalance: "1.0000150" }),
      ]),
      alice,
    ),
  );
  return { network, clock };
}
