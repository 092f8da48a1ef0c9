import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { ExaminationParts } from "../../cli/doctor_checks.ts";
import { sampleState } from "../store/samples.ts";
import { type DoctorStage, NODE, says, startDoctorStage } from "./doctor_stage.ts";

let doctor: DoctorStage;
before(async () => {
  doctor = await startDoctorStage();
});
after(() => doctor.close());

describe("doctor: the node", () => {
  const node = (fetch: ExaminationParts["fetch"], check = "rpc node") => doctor.finding(check, {}, { fetch });

  test("tells a node that is down from one that answers nonsense, and skips the contracts", async () => {
    const down = await node(() => Promise.reject(new TypeError("connection refused")));
    says(down, "fail", /http:\/\/node\.test could not be reached/, /firewall/);
    const busy = await node(() => Promise.resolve(new Response("busy", { status: 503 })));
    says(busy, "fail", /answered HTTP 503/, /see whether it runs/);
    const page = await node(() => Promise.resolve(new Response("<html>")));
    says(page, "fail", /not JSON/, /SERVICE_API_RPC_URL/);
    const lost = await node(() => Promise.resolve(new Response(null, { status: 404 })));
    says(lost, "fail", /answered HTTP 404/, /SERVICE_API_RPC_URL/);
    const findings = await doctor.examined({}, { fetch: () => Promise.reject(new TypeError("refused")) });
    assert.deepEqual(findings.at(-1), {
      check: "contracts",
      verdict: "skip",
      found: "no node of this network answers",
    });
  });

  test("tells a node that says it is not well", async () => {
    const ill = await node(async (url, init) => {
      const { method, id } = JSON.parse(String(init.body));
      if (method !== "getHealth") return await doctor.sandbox.fetch(url, init);
      return Response.json({ jsonrpc: "2.0", id, error: { code: -32603, message: "data stores are not initialized" } });
    });
    says(ill, "fail", /is not well: .*data stores/, /caught up/);
  });

  test("tells a wrong passphrase, naming both", async () => {
    const wrong = await doctor.finding("rpc node", { networkPassphrase: "Test SDF Network ; September 2015" });
    says(wrong, "fail", /is of the network ".*", the settings say "Test SDF Network/, /NETWORK_PASSPHRASE/);
  });

  test("looks at every node of the settings", async () => {
    const findings = await doctor.examined({ rpcUrls: `http://down.test,${NODE}` }, {
      fetch: (url, init) =>
        url.includes("down") ? Promise.reject(new TypeError("refused")) : doctor.sandbox.fetch(url, init),
    });
    const nodes = findings.filter(({ check }) => check === "rpc node");
    assert.deepEqual(nodes.map(({ verdict }) => verdict), ["fail", "ok"]);
    assert.ok(findings.some(({ check, verdict }) => check === "payment escrow" && verdict === "ok"));
  });

  test("tells this machine's clock from a ledger that stands still", async () => {
    const clock = (parts: Partial<ExaminationParts>) => doctor.finding("clock and ledger", {}, parts);
    const hourLater = () => doctor.sandbox.nowMs() + 3_600_000;
    says(await clock({ now: () => doctor.sandbox.nowMs() - 60_000 }), "fail", /clock is 60 s behind/, /NTP/);
    says(await clock({ now: hourLater }), "fail", /closed 3600 s ago, and none has since/, /stands still/);
    const wait = () => Promise.resolve(void doctor.sandbox.network.closeLedger());
    says(await clock({ now: hourLater, wait }), "fail", /ledgers close at .*it is ahead/, /set the clock/);
    says(await clock({ now: () => doctor.sandbox.nowMs() + 20_000 }), "ok", /closed 20 s ago/);
  });

  test("says what of the history is lost when the gateway was off for longer than the node keeps it", async () => {
    const { sequence } = doctor.sandbox.network.latestLedger();
    const store = await doctor.storeWith((store) =>
      store.commitEvents({ events: [], state: sampleState(2, { latestLedger: 3 }) })
    );
    const pruned = doctor.rpcAnswer((result, method) =>
      method === "getHealth" ? { ...result, oldestLedger: 6 } : result
    );
    assert.ok(sequence > 6);
    says(await doctor.finding("history", { store }, { fetch: pruned }), "fail", /ledgers 3–5 are gone/, /gap/);
    says(await doctor.finding("history", { store }), "ok", /read up to ledger 2; the node holds ledgers/);
    const ahead = await doctor.storeWith((store) => store.commitEvents({ events: [], state: sampleState(9_999) }));
    says(await doctor.finding("history", { store: ahead }), "warn", /up to ledger 9999, the node has come to/, /reset/);
  });
});
