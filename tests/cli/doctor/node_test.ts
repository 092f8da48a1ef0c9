// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ExaminationParts } from "../../../cli/doctor/checks.ts";
import { type Clock, systemClock } from "../../../lib/clock.ts";
import { openStore } from "../../../lib/store/open.ts";
import { scanned } from "../../store/samples.ts";
import { doctorOfFile, NODE, quickWait, says } from "./stage.ts";

const doctor = doctorOfFile();

describe("doctor: the node", () => {
  const node = (fetch: ExaminationParts["fetch"], check = "rpc node") => doctor.finding(check, {}, { fetch });

  test("distinguishes a node that is down from one with malformed answers, and skips the contracts", async () => {
    const down = await node(() => Promise.reject(new TypeError("connection refused")));
    says(down, "fail", /http:\/\/node\.test could not be reached/, /firewall/);
    const busy = await node(() => Promise.resolve(new Response("busy", { status: 503 })));
    says(busy, "fail", /answered HTTP 503/, /check that the node runs/);
    const page = await node(() => Promise.resolve(new Response("<html>")));
    says(page, "fail", /not JSON/, /SERVICE_API_RPC_URL/);
    const lost = await node(() => Promise.resolve(new Response(null, { status: 404 })));
    says(lost, "fail", /answered HTTP 404/, /SERVICE_API_RPC_URL/);
    const findings = await doctor.examined({}, { fetch: () => Promise.reject(new TypeError("refused")) });
    const skipped = (check: string) => ({ check, verdict: "skip", found: "no node of this network answers" });
    assert.deepEqual(findings.slice(-3), [skipped("clock and ledger"), skipped("history"), skipped("contracts")]);
  });

  test("reports a node that answers with an error", async () => {
    const ill = await node(async (url, init) => {
      const { method, id } = JSON.parse(String(init.body));
      if (method !== "getHealth") return await doctor.sandbox.fetch(url, init);
      return Response.json({ jsonrpc: "2.0", id, error: { code: -32603, message: "data stores are not initialized" } });
    });
    says(ill, "fail", /is not well: .*data stores/, /caught up/);
  });

  test("reports a wrong passphrase, naming both", async () => {
    const wrong = await doctor.finding("rpc node", { networkPassphrase: "Test SDF Network ; September 2015" });
    says(
      wrong,
      "fail",
      /is of the network ".*", the settings name "Test SDF Network/,
      /NETWORK_PASSPHRASE \(--network-passphrase\)/,
    );
  });

  test("a node that is down is a warning while another works, in any order, and a failure when all are down", async () => {
    const refused = () => Promise.reject(new TypeError("refused"));
    const fetch: ExaminationParts["fetch"] = (url, init) =>
      url.includes("down") ? refused() : doctor.sandbox.fetch(url, init);
    for (const rpcUrls of [`http://down.test,${NODE}`, `${NODE},http://down.test`]) {
      const findings = await doctor.examined({ rpcUrls }, { fetch });
      const nodes = findings.filter(({ check }) => check === "rpc node");
      assert.deepEqual(nodes.map(({ found }) => found.includes("down")), rpcUrls.split(",").map((url) => url !== NODE));
      says(
        nodes.find(({ verdict }) => verdict !== "ok")!,
        "warn",
        /down\.test could not be/,
        /; until then the gateway uses another node/,
      );
      assert.deepEqual(findings.filter(({ verdict }) => verdict === "fail"), []);
      assert.equal(findings.filter(({ check }) => check === "clock and ledger").length, 1);
      assert.ok(findings.some(({ check, verdict }) => check === "payment escrow" && verdict === "ok"));
    }
    const findings = await doctor.examined({ rpcUrls: `http://down.test,${NODE}` }, { fetch: refused });
    const nodes = findings.filter(({ check }) => check === "rpc node");
    assert.deepEqual(nodes.map(({ verdict }) => verdict), ["fail", "fail"]);
    for (const { todo } of nodes) assert.doesNotMatch(todo!, /uses another node/);
  });

  test("a node of another network is a failure even beside a working one, because the gateway would not start", async () => {
    const another = doctor.rpcAnswer((result, method) =>
      method === "getNetwork" ? { ...result, passphrase: "Another Network" } : result
    );
    const fetch: ExaminationParts["fetch"] = (url, init) =>
      url.includes("another") ? another(url, init) : doctor.sandbox.fetch(url, init);
    const findings = await doctor.examined({ rpcUrls: `http://another.test,${NODE}` }, { fetch });
    const nodes = findings.filter(({ check }) => check === "rpc node");
    says(
      nodes[0]!,
      "fail",
      /is of the network "Another Network"/,
      /SERVICE_API_RPC_URL \(--rpc-url\) to a node of your/,
    );
    says(nodes[1]!, "ok", /answers/);
    assert.ok(findings.some(({ check, verdict }) => check === "payment escrow" && verdict === "ok"));
  });

  test("of two nodes the stalled one is a warning, and the other one answers about the contracts", async () => {
    const still = doctor.rpcAnswer((result, method) => {
      if (method === "getLedgerEntries") throw new Error("it was asked for the contracts");
      return method === "getHealth" ? { ...result, latestLedgerCloseTime: "1700000000" } : result;
    });
    const fetch: ExaminationParts["fetch"] = (url, init) =>
      url.includes("still") ? still(url, init) : doctor.sandbox.fetch(url, init);
    const findings = await doctor.examined({ rpcUrls: `http://still.test,${NODE}` }, { fetch });
    const clocks = findings.filter(({ check }) => check === "clock and ledger");
    says(
      clocks[0]!,
      "warn",
      /latest ledger of http:\/\/still\.test closed \d+ s ago/,
      /until then the gateway uses another node/,
    );
    says(clocks[1]!, "ok", /closed \d+ s ago/);
    assert.ok(findings.some(({ check, verdict }) => check === "payment escrow" && verdict === "ok"));
  });

  test("distinguishes a wrong clock from a stalled ledger", async () => {
    const clock = (parts: Partial<Clock>) =>
      doctor.finding("clock and ledger", {}, {
        clock: { now: doctor.sandbox.nowMs, monotonicMs: systemClock.monotonicMs, wait: quickWait, ...parts },
      });
    const hourLater = () => doctor.sandbox.nowMs() + 3_600_000;
    says(await clock({ now: () => doctor.sandbox.nowMs() - 60_000 }), "fail", /clock is 60 s behind/, /NTP/);
    says(await clock({ now: hourLater }), "fail", /closed 3600 s ago, and no newer one closes/, /has stopped/);
    const wait: Clock["wait"] = (delayMs, signal) => {
      if (signal === undefined) doctor.sandbox.network.closeLedger();
      return quickWait(delayMs, signal);
    };
    says(await clock({ now: hourLater, wait }), "fail", /although new ledgers close/, /set the clock/);
    says(await clock({ now: () => doctor.sandbox.nowMs() + 20_000 }), "ok", /closed 20 s ago/);
  });

  test("reports the lost ledgers when the gateway was off for longer than the node keeps them", async () => {
    const { sequence } = doctor.sandbox.network.latestLedger();
    const store = await doctor.storeWith((store) => scanned(store, 2, { latestLedger: 3 }));
    const pruned = doctor.rpcAnswer((result, method) =>
      method === "getHealth" ? { ...result, oldestLedger: 6 } : result
    );
    assert.ok(sequence > 6);
    says(await doctor.finding("history", { store }, { fetch: pruned }), "fail", /no longer holds ledgers 3–5/, /gap/);
    const ahead = await doctor.storeWith((store) => scanned(store, 9_999));
    const readOn = await doctor.storeWith((store) => scanned(store, sequence + 2));
    says(await doctor.finding("history", { store: readOn }), "ok", /read up to ledger \d+; the node holds/);
    says(
      await doctor.finding("history", { store: ahead }),
      "warn",
      /up to ledger 9999, but the latest ledger of the node is/,
      /reset/,
    );
  });

  test("reports how long the gateway can be off without lost events, by the node's retention", async () => {
    const { sequence } = doctor.sandbox.network.latestLedger();
    const store = await doctor.storeWith((store) => scanned(store, 2, { latestLedger: 3 }));
    says(
      await doctor.finding("history", { store }),
      "ok",
      new RegExp(
        `^read up to ledger 2; the node holds ledgers \\d–${sequence}, all since its first; .* for about 23 h$`,
      ),
    );
    const holding = (fromLedger: number, toLedger: number, ledgerRetentionWindow = 17_280) =>
      doctor.finding("history", { store }, {
        fetch: doctor.rpcAnswer((result, method) =>
          method === "getHealth"
            ? { ...result, oldestLedger: fromLedger, latestLedger: toLedger, ledgerRetentionWindow }
            : result
        ),
      });
    says(await holding(1, 60, 120_960), "ok", /ledgers 1–60, all since its first; .* for about 6 days$/);
    says(await holding(1, 10_000), "ok", /ledgers 1–10000, all since its first; .* loses no events for about 10 h$/);
    says(
      await holding(1, 17_280),
      "warn",
      /ledgers 1–17280; a stopped gateway loses events in about 0 h$/,
      /start the gateway/,
    );
  });

  test("reports a running gateway that reads no new events", async () => {
    const setting = await doctor.storeWith((store) => scanned(store, 2, { latestLedger: 3 }));
    const behind = (ledgers: number) =>
      doctor.finding("history", { store: setting }, {
        fetch: doctor.rpcAnswer((result, method) =>
          method === "getHealth" ? { ...result, oldestLedger: 1, latestLedger: 2 + ledgers } : result
        ),
      });
    says(await behind(8_640), "ok", /read up to ledger 2/);
    const served = await openStore(setting);
    await served.holdForServing();
    says(await behind(60), "ok", /read up to ledger 2/);
    says(
      await behind(8_640),
      "warn",
      /the running gateway is 8640 ledgers behind and loses events in about \d+ h/,
      /see its log/,
    );
    await served.close();
  });

  test("a store that does not exist yet loses no history, and for an unreadable store the check is skipped", async () => {
    says(await doctor.finding("history"), "ok", /no events read yet; the node holds ledgers \d/);
    says(
      await doctor.finding("history", { store: `sqlite:${doctor.folder}/none/g.db` }),
      "skip",
      /store could not be read/,
    );
  });
});
