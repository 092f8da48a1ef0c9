// needs: runtime
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { isoSeconds } from "../../lib/clock.ts";
import { formatEventId, type NewEvent } from "../../lib/store/event.ts";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { folderForTests } from "../folder.ts";
import { type Cluster, findPostgres, startCluster } from "../store/postgres_cluster.ts";
import { sampleEvent, sampleState, watcherLease } from "../store/samples.ts";
import { assertInvalid, type GatewayUnderTest, networkOfFile, startGateway } from "./test_gateway.ts";

const BEGAN = Date.parse("2026-03-01T00:00:00Z") / 1_000;
const on = networkOfFile();

/** An event of this ledger, whose network has closed a ledger every five seconds since `began`. */
function eventAt(ledger: number, { epoch = 0, began = BEGAN, index = 1, type = "device.revoked" } = {}): NewEvent {
  const id = formatEventId({ epoch, ledger, order: 4_097, index });
  return sampleEvent(0, { id, ledger, type, ledgerClosedAt: isoSeconds((began + ledger * 5) * 1_000) });
}

function describeByTime(name: string, open: () => Promise<Store>): void {
  describe(`the history by time in ${name}`, () => {
    let api: GatewayUnderTest;

    before(async () => {
      const store = await open();
      const lease = await watcherLease(store);
      const every = (type: string, began: number, epoch: number) => (n: number) => eventAt(n, { type, began, epoch });
      const ledgers = Array.from({ length: 200 }, (_, index) => 10 + 3 * index);
      // The second network begins at ledger 1, two hours after the first one. The third one's clock is a day behind.
      const steps = [
        { epoch: 0, events: ledgers.map(every("device.revoked", BEGAN, 0)) },
        { epoch: 0, events: [eventAt(101, { type: "agent.revoked" })] },
        { epoch: 1, events: ledgers.map(every("escrow.funded", BEGAN + 7_200, 1)) },
        { epoch: 2, events: ledgers.map(every("agent.revoked", BEGAN - 86_400, 2)) },
      ];
      for (const { epoch, events } of steps) {
        for (let at = 0; at < events.length; at += 100) {
          const state = sampleState(1_000, { epoch });
          await store.events.append({ lease, events: events.slice(at, at + 100), state });
        }
      }
      api = await startGateway(on, { started: false, checkAnswers: false, store: () => store });
    });
    after(() => api.stop());

    async function list(query: string) {
      const { status, body } = await api.request("GET", `/v1/events?${query}`);
      assert.equal(status, 200, JSON.stringify(body));
      return body as { events: { id: string; ledger: number; type: string; ledgerClosedAt: string }[]; cursor: string };
    }
    const all = async () => (await list("limit=1000")).events;
    const secondOf = ({ ledgerClosedAt }: { ledgerClosedAt: string }) => Date.parse(ledgerClosedAt) / 1_000;

    test("from is inclusive, to is exclusive, and a late event is found", async () => {
      const [from, to] = [BEGAN + 5 * 100, BEGAN + 5 * 106];
      for (
        const query of [`from=${from}&to=${to}`, `from=${isoSeconds(from * 1_000)}&to=2026-03-01T01:08:50%2B01:00`]
      ) {
        assert.deepEqual((await list(query)).events.map(({ ledger }) => ledger), [100, 103, 101]);
      }
      assert.deepEqual((await list(`from=${from}&to=${to}&order=desc`)).events.map(({ ledger }) => ledger), [
        ...[101, 103, 100],
      ]);
      assert.deepEqual((await list(`from=${from + 1}&to=${from + 5}`)).events, []);
      assert.deepEqual((await list(`from=${from + 1}&to=${from + 6}`)).events.map(({ ledger }) => ledger), [101]);
    });

    test("selects the same events as a look at each, over three networks, in both orders, page by page", async () => {
      const held = await all();
      assert.equal(held.length, 601);
      const ranges: [from?: number, to?: number][] = [
        [],
        [undefined, -84_000],
        [-90_000, 52],
        [-84_000, 2_000],
        [52, 7_300],
        [2_000, 2_900],
        [7_300, undefined],
        [20_000, undefined],
      ];
      for (const [after, until] of ranges) {
        const [from, to] = [after, until].map((seconds) => seconds === undefined ? undefined : BEGAN + seconds);
        const range = `${from === undefined ? "" : `&from=${from}`}${to === undefined ? "" : `&to=${to}`}`;
        const wanted = held.filter((e) => secondOf(e) >= (from ?? -Infinity) && secondOf(e) < (to ?? Infinity));
        for (const order of ["asc", "desc"]) {
          const ids: string[] = [];
          let cursor = "";
          for (;;) {
            const page = await list(`limit=200&order=${order}${range}${cursor}`);
            ids.push(...page.events.map(({ id }) => id));
            cursor = `&cursor=${page.cursor}`;
            if (page.events.length < 200) break;
          }
          const expected = wanted.map(({ id }) => id);
          assert.deepEqual(ids, order === "asc" ? expected : expected.reverse(), `${order} ${range}`);
        }
      }
    });

    test("combines with types, also repeated ones, and with ledgers", async () => {
      const range = `from=${BEGAN + 5 * 100}&to=${BEGAN + 5 * 106}`;
      assert.deepEqual((await list(`${range}&types=agent.revoked`)).events.map(({ ledger }) => ledger), [101]);
      const both = await list(`${range}&types=agent.revoked&types=device.revoked`);
      assert.deepEqual(both.events.map(({ ledger }) => ledger), [100, 103, 101]);
      // Ledgers are those of the current epoch.
      const now = BEGAN - 86_400;
      const { events } = await list(`from=${now + 500}&to=${now + 530}&fromLedger=102&toLedger=104`);
      assert.deepEqual(events.map(({ ledger }) => ledger), [103]);
    });

    test("a cursor at the end of a range continues with the events that come later", async () => {
      const { cursor, events } = await list(`from=${BEGAN + 7_200}&limit=1000`);
      assert.equal(events.length, 200);
      assert.deepEqual((await list(`from=${BEGAN + 7_200}&cursor=${cursor}`)).events, []);
    });

    test("refuses a time that is none, and a range without a second in it", async () => {
      for (const wrong of ["yesterday", "2026-02-30", "2026-03-01T00:00:00", "1772323200000", "-1", ""]) {
        const message = /^from must be a time in ISO 8601 with its zone.*or in Unix seconds/;
        assertInvalid(await api.request("GET", `/v1/events?from=${wrong}`), message, "from");
      }
      for (const [from, to] of [["2026-03-01", "2026-03-01T00:00:00Z"], [`${BEGAN + 1}`, `${BEGAN}`]]) {
        const answer = await api.request("GET", `/v1/events?from=${from}&to=${to}`);
        assertInvalid(answer, /^from must be before to/, "from");
      }
    });
  });
}

const directory = folderForTests();
const programs = findPostgres();

describeByTime("SQLite", () => openStore("memory:"));
if (runtimeName === "deno") describeByTime("Deno KV", () => openStore(`deno-kv:${join(directory, "times.kv")}`));
if (programs === undefined) {
  describe("the history by time in PostgreSQL", () => void test("needs PostgreSQL's programs", { skip: true }));
} else {
  let cluster: Cluster;
  before(async () => void (cluster = await startCluster(programs)));
  after(() => cluster.remove());
  describeByTime("PostgreSQL", () => openStore(cluster.setting({ schema: "times" })));
}
