// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { xdr } from "@stellar/stellar-sdk";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import type { SubmitOutcome } from "../../lib/sandbox/network_types.ts";
import { feeBump, pay } from "./envelope_parts.ts";
import { alice, bob } from "./people.ts";
import { apply, build, fund, refusal, signed, START_SECONDS, startNetwork, submit } from "./sandbox_network.ts";

/** A transaction as an SDK builds it with `setTimeout(60)`, which adds the timeout to the machine's clock. */
const transaction = (network: SandboxNetwork, machineSeconds: number, operations = [pay(bob)]) =>
  signed(build(network, alice, operations, { timebounds: { minTime: 0, maxTime: machineSeconds + 60 } }), alice);

/** The texts of the diagnostic events in a refusal. */
function reasons(outcome: SubmitOutcome): string[] {
  assert.ok(outcome.status === "ERROR");
  return outcome.diagnosticEventsXdr.map((event) =>
    String(xdr.DiagnosticEvent.fromXdr(event).event.body.v0.data.value)
  );
}

async function advancedNetwork() {
  const { network, clock } = await startNetwork();
  await fund(network, alice, bob);
  network.advance({ seconds: 86_400 });
  return { network, clock };
}

describe("a network whose time is ahead of the machine's clock", () => {
  test("refuses an SDK's maxTime: txTooLate with a diagnostic event about the lead", async () => {
    const { network } = await advancedNetwork();
    const outcome = submit(network, transaction(network, START_SECONDS));
    assert.equal(refusal(outcome), "txTooLate");
    const [reason, ...more] = reasons(outcome);
    assert.match(reason!, /^the network's time is 86400 seconds ahead of the machine's clock, .*maxTime/);
    assert.deepEqual(more, []);
    assert.equal(apply(network, transaction(network, START_SECONDS + 86_400)).successful, true);
  });

  test("reports the lead for the inner transaction of a fee bump too", async () => {
    const { network } = await advancedNetwork();
    const outcome = submit(network, feeBump(network, bob, "200", transaction(network, START_SECONDS)));
    assert.equal(refusal(outcome), "txFeeBumpInnerFailed/txTooLate");
    assert.equal(reasons(outcome).length, 1);
  });

  test("does not report the lead for a maxTime that the machine's clock has passed too", async () => {
    const { network, clock } = await advancedNetwork();
    const late = transaction(network, START_SECONDS);
    clock.seconds += 61;
    assert.deepEqual(reasons(submit(network, late)), []);
  });

  test("does not report the lead for an envelope that it refuses for another reason", async () => {
    const { network } = await advancedNetwork();
    const outcome = submit(network, transaction(network, START_SECONDS, []));
    assert.equal(refusal(outcome), "txMissingOperation");
    assert.deepEqual(reasons(outcome), []);
  });
});

test("a network that was never advanced refuses a late transaction without a diagnostic event", async () => {
  const { network } = await startNetwork();
  await fund(network, alice, bob);
  assert.deepEqual(reasons(submit(network, transaction(network, START_SECONDS - 61))), []);
});
