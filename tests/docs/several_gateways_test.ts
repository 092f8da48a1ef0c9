// needs: long, runtime
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as passed } from "node:timers/promises";
import { SCHEMA_VERSION } from "../../lib/store/postgres/schema.ts";
import { createClient } from "../e2e/client.ts";
import {
  asArguments,
  flagsFor,
  makeKey,
  newAccount,
  runGateway,
  type SandboxProcess,
  sourceCommand,
  startSandbox,
} from "../e2e/sandbox_process.ts";
import { freePort, type ServeProcess, startServe } from "../faults/serve_process.ts";
import { type Cluster, findPostgres, startCluster } from "../store/postgres_cluster.ts";
import { type Balancer, BALANCERS, startBalancer } from "./balancers.ts";
import { startRestartLoad } from "./restart_load.ts";
import { isInstalled } from "./tools.ts";

/*
 * The rolling restart of docs/backup-and-upgrade.md.
 */
const ROUNDS = 2;
/** How many cards are registered between two restarts. */
const CARDS = 10;
/** The number of requests to a restarted gateway after which the balancer uses it again. */
const TRUSTED_AFTER = 3;
const TIMEOUT_MS = 600_000;
const LOOK_MS = 50;
const EVENTS_PAGE = 1_000;

function describeSeveral(programs: string): void {
  let cluster: Cluster;
  let sandbox: SandboxProcess;
  let key: string;
  let ports: [number, number];
  const gateways: ServeProcess[] = [];
  const flags = (port: number, store = cluster.setting()) =>
    flagsFor(sandbox.info, { store, "port": String(port), "trust-proxy": "1", "log-level": "debug" });
  before(async () => {
    [cluster, sandbox] = await Promise.all([startCluster(programs), startSandbox()]);
    key = await makeKey(sourceCommand(), cluster.setting(), { scopes: "read,write", rate: 1_000_000 });
    ports = [await freePort(), await freePort()];
    for (const port of ports) gateways.push(await startServe(flags(port)));
  });
  after(async () => {
    for (const gateway of gateways) gateway.kill();
    await sandbox?.stop();
    await cluster?.remove();
  });

  /** Restarts a gateway and waits until the balancer sends requests to it again, if only for its health. */
  async function restart(which: number): Promise<void> {
    gateways[which]!.signal("SIGTERM");
    assert.equal(await gateways[which]!.ended, 0, gateways[which]!.log());
    const started = gateways[which] = await startServe(flags(ports[which]!));
    while (started.lines().filter(({ path }) => path !== undefined).length < TRUSTED_AFTER) await passed(LOOK_MS);
  }

  /** Registers a card at a gateway; returns its hash. */
  async function register(gateway: ServeProcess): Promise<string> {
    const deviceHash = crypto.randomUUID().replaceAll("-", "").repeat(2);
    const operation = { kind: "registerDevice", deviceHash, agent: sandbox.info.accounts.agent.address };
    const { status, body } = await createClient(gateway.url, key).write(await newAccount(sandbox.info), operation);
    assert.equal(status, 200, JSON.stringify(body));
    return deviceHash;
  }

  /** Waits until this gateway's log has the cards; returns how often it has each. */
  async function logged({ url }: ServeProcess, cards: string[]): Promise<Map<string, number>> {
    const api = createClient(url, key);
    const times = new Map(cards.map((card) => [card, 0]));
    for (let cursor = "", missing = cards.length; missing > 0;) {
      const { body } = await api.get(`/v1/events?limit=${EVENTS_PAGE}${cursor && `&cursor=${cursor}`}`);
      for (const { deviceHash } of body.events as { deviceHash: string }[]) {
        const before = times.get(deviceHash);
        if (before !== undefined) times.set(deviceHash, before + 1);
        if (before === 0) missing--;
      }
      cursor = body.cursor;
      if (body.events.length === 0) await passed(LOOK_MS);
    }
    return times;
  }

  for (const name of BALANCERS) {
    describe(`two gateways on one PostgreSQL database behind ${name}`, () => {
      if (!isInstalled(name)) return void test(`need ${name}, which is not on this machine`, { skip: true });
      let balancer: Balancer;
      before(async () => {
        balancer = await startBalancer(name, ports);
      });
      after(async () => await balancer?.stop());

      test("answer all reads and register each card once while an operator restarts them in turn", {
        timeout: TIMEOUT_MS,
      }, async () => {
        const load = startRestartLoad(sandbox.info, balancer.port, key);
        try {
          for (let restarts = 0; restarts < 2 * ROUNDS; restarts++) {
            const enough = load.registered.length + CARDS;
            while (load.registered.length < enough) await passed(LOOK_MS);
            await restart(restarts % 2);
          }
        } finally {
          await load.stop();
        }
        const { reads, lostReads, posts, lostPosts, registered } = load;
        console.log(
          `${name}: ${2 * ROUNDS} restarts, ${reads} reads, ${posts} POSTs, of which begun again ${lostPosts}`,
        );
        assert.deepEqual(lostReads, [], balancer.log());
        for (const [card, times] of await logged(gateways[0]!, registered)) assert.equal(times, 1, card);
        // One for each client and restart at most: each had one connection that was closed.
        assert.ok(lostPosts.length <= 2 * 2 * ROUNDS, String(lostPosts));
      });
    });
  }

  describe("two gateways on one PostgreSQL database", () => {
    test("keep working after a newer version migrates the store; an older version refuses to start", async () => {
      await cluster.sql("UPDATE gateway.store SET schema_version = schema_version + 90");
      try {
        for (const gateway of gateways) assert.equal((await logged(gateway, [await register(gateway)])).size, 1);
        const refused = await runGateway(["serve", ...asArguments(flags(0))]);
        assert.equal(refused.code, 2);
        const newer = `was written by a newer version of this program (schema ${SCHEMA_VERSION + 90}, `;
        assert.ok(refused.stderr.includes(newer) && refused.stderr.includes(": run that version"), refused.stderr);
        const command = await runGateway(["keys", "list", "--store", cluster.setting()]);
        assert.equal(command.code, 2, command.stderr);
      } finally {
        await cluster.sql("UPDATE gateway.store SET schema_version = schema_version - 90");
      }
    });

    test("answer 503 while the database is down, report healthy, and work again when it is back", async () => {
      const answers = async (path: string) => {
        const { status, headers } = await createClient(gateways[0]!.url, key).get(path);
        return [status, headers.get("retry-after")];
      };
      await cluster.stop("fast");
      try {
        while ((await answers("/v1/events"))[0] === 200) await passed(LOOK_MS);
        assert.deepEqual(await answers("/v1/events"), [503, "1"]);
        assert.deepEqual(await answers("/v1/health"), [200, null]);
        const started = await runGateway(["serve", ...asArguments(flags(0))]);
        assert.equal(started.code, 1, started.stderr);
      } finally {
        await cluster.start();
      }
      while ((await answers("/v1/events"))[0] !== 200) await passed(LOOK_MS);
      assert.equal((await logged(gateways[1]!, [await register(gateways[0]!)])).size, 1);
    });

    test("serve while pg_dump copies their store; a gateway on the copy has their keys and history", async () => {
      const card = await register(gateways[0]!);
      await logged(gateways[0]!, [card]);
      await cluster.sql("CREATE DATABASE restored");
      const where = ["-h", "127.0.0.1", "-p", String(cluster.port), "-U", "postgres"];
      const program = (name: string, args: string[], input?: string) => {
        const done = spawnSync(join(programs, name), [...where, ...args], { encoding: "utf8", input, maxBuffer: 1e9 });
        assert.equal(done.status, 0, done.stderr);
        return done.stdout;
      };
      const dump = program("pg_dump", ["--schema=gateway", "gateway"]);
      program("psql", ["-qX", "-v", "ON_ERROR_STOP=1", "restored"], dump);
      const restored = await startServe(flags(0, cluster.setting().replace("/gateway", "/restored")));
      try {
        assert.equal((await logged(restored, [card])).get(card), 1);
        assert.equal((await logged(restored, [await register(restored)])).size, 1);
      } finally {
        restored.signal("SIGTERM");
        assert.equal(await restored.ended, 0);
      }
    });

    test("log events again when the killed leader's lease has expired", {
      timeout: TIMEOUT_MS,
    }, async () => {
      const [killed, other] = gateways as [ServeProcess, ServeProcess];
      killed.kill();
      await killed.ended;
      const killedAtMs = Date.now();
      const card = await register(other);
      console.log(`a card was registered ${Date.now() - killedAtMs} ms after a kill`);
      assert.equal((await logged(other, [card])).get(card), 1);
      console.log(`and in the log ${Date.now() - killedAtMs} ms after it`);
    });
  });
}

const programs = findPostgres();
if (programs !== undefined) describeSeveral(programs);
else {describe("several gateways", () =>
    void test("need PostgreSQL's programs, which are not on this machine", { skip: true }));}
