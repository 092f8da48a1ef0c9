// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Asset, Operation, type Transaction, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import type { SubmitOutcome } from "../../lib/sandbox/network_types.ts";
import {
  apply,
  build,
  fund,
  keypair,
  refusal,
  signed,
  START_SECONDS,
  startNetwork,
  submit,
} from "./sandbox_network.ts";

const [alice, bob] = [keypair("alice"), keypair("bob")];

/** As an SDK makes it with `setTimeout(60)`: the bound is counted from the machine's clock. */
function payment(network: SandboxNetwork, machineSeconds: number): Transaction {
  const operation = Operation.payment({ destination: bob.publicKey(), asset: Asset.native(), amount: "1" });
  const timebounds = { minTime: 0, maxTime: machineSeconds + 60 };
  return signed(build(network, alice, [operation], { timebounds }), alice);
}

/** The texts of the diagnostic events that a refusal comes with. */
function reasons(outcome: SubmitOutcome): string[] {
  assert.equal(outcome.status, "ERROR");
  const events = outcome.status === "ERROR" ? outcome.diagnosticEventsXdr : [];
  return events.map((event) => String(xdr.DiagnosticEvent.fromXdr(event).event.body.v0.data.value));
}

async function advancedNetwork() {
  const { network, clock } = await startNetwork();
  await fund(network, alice, bob);
  network.advance({ seconds: 86_400 });
  return { network, clock };
}

describe("a time bound counted from the machine's clock", () => {
  test("is too late once time was advanced beyond it, and the refusal says by how much and what to do", async () => {
    const { network } = await advancedNetwork();
    const outcome = submit(network, payment(network, START_SECONDS));
    assert.equal(refusal(outcome), "txTooLate");
    const [reason, ...more] = reasons(outcome);
    assert.match(reason!, /^the network's time is 86400 seconds ahead of the machine's clock, .*maxTime/);
    assert.deepEqual(more, []);
    assert.equal(apply(network, payment(network, START_SECONDS + 86_400)).successful, true);
  });

  test("is told so within a fee bump, too", async () => {
    const { network } = await advancedNetwork();
    const bump = TransactionBuilder.buildFeeBumpTransaction(
      bob,
      "200",
      payment(network, START_SECONDS),
      network.passphrase,
    );
    const outcome = submit(network, signed(bump, bob));
    assert.equal(refusal(outcome), "txFeeBumpInnerFailed/txTooLate");
    assert.equal(reasons(outcome).length, 1);
  });

  test("is just too late where the machine's clock has passed it as well, or time was never advanced", async () => {
    const { network, clock } = await advancedNetwork();
    const late = payment(network, START_SECONDS);
    clock.seconds += 61;
    assert.deepEqual(reasons(submit(network, late)), []);
    const { network: present } = await startNetwork();
    await fund(present, alice, bob);
    assert.deepEqual(reasons(submit(present, payment(present, START_SECONDS - 61))), []);
  });

  test("is not blamed for what is refused for another reason", async () => {
    const { network } = await advancedNetwork();
    const outcome = submit(
      network,
      signed(build(network, alice, [], { timebounds: { minTime: 0, maxTime: START_SECONDS + 60 } }), alice),
    );
    assert.equal(refusal(outcome), "txMissingOperation");
    assert.deepEqual(reasons(outcome), []);
  });
});
