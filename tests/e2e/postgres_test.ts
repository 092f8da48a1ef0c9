// needs: once
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as passed } from "node:timers/promises";
import { beginLife, type MortalGateway } from "../faults/mortal_gateway.ts";
import { startServe } from "../faults/serve_process.ts";
import { findPostgres } from "../store/postgres_cluster.ts";
import { createDatabase, type SharedDatabase } from "../store/postgres_shared.ts";
import { createClient } from "./client.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import { flagsFor, runGateway, type SandboxProcess, startSandbox } from "./sandbox_process.ts";

const PASSWORD = "hush-hush";
const DAY_MS = 86_400_000;
const CARDS = 8;
const cardOf = (n: number) => n.toString(16).padStart(64, "0");

function describeGateways(programs: string): void {
  let database: SharedDatabase;
  let sandbox: SandboxProcess;
  let receiver: Receiver;
  const gateways: MortalGateway[] = [];
  before(async () => {
    [database, sandbox, receiver] = await Promise.all([createDatabase(programs), startSandbox(), startReceiver()]);
    await database.sql(
      "SET password_encryption = 'scram-sha-256'; " +
        `CREATE ROLE ${role()} LOGIN PASSWORD '${PASSWORD}'; GRANT CREATE ON DATABASE ${database.name} TO ${role()}`,
    );
  });
  after(async () => {
    await Promise.all(gateways.map((gateway) => gateway.kill()));
    await Promise.all([sandbox.stop(), receiver.stop()]);
    await database.remove();
  });

  /** A role belongs to the server, which other tests share. */
  const role = () => `gateway_of_${database.name}`;
  const store = () => `postgres://${role()}@127.0.0.1:${database.port}/${database.name}`;
  /** Runs a command beside the gateways, and checks that its output never contains the password. */
  async function command(...args: string[]) {
    const finished = await runGateway(args, { SERVICE_API_STORE: store(), PGPASSWORD: PASSWORD });
    assert.ok(!`${finished.stdout}${finished.stderr}`.includes(PASSWORD));
    return finished;
  }

  /** A gateway that may post to this machine. */
  async function begin(aheadMs: number): Promise<{ url: string; gateway: MortalGateway }> {
    const { rpc, networkPassphrase, contracts } = sandbox.info;
    const own = store().replace("@", `:${PASSWORD}@`);
    const gateway = beginLife({
      settings: { store: own, port: "0", rpcUrls: rpc, networkPassphrase, ...contracts, pollMs: "100" },
      aheadMs,
      postsPerEndpoint: 8,
      writes: 0,
    });
    gateways.push(gateway);
    return { url: (await gateway.ready)!, gateway };
  }

  async function register(api: ReturnType<typeof createClient>, n: number): Promise<void> {
    const { owner, agent } = sandbox.info.accounts;
    const operation = { kind: "registerDevice", deviceHash: cardOf(n), agent: agent.address };
    const written = await api.write(owner, operation);
    assert.equal(written.status, 200, JSON.stringify(written.body));
  }

  describe("gateways on one PostgreSQL database", () => {
    test("have the same history, deliver each event once, and continue after one is killed, with one clock a day ahead", async () => {
      const scopes = ["--scopes", "read,write,webhooks", "--rate", "6000"];
      const made = await command("keygen", "--name", "shop", ...scopes, "--json");
      assert.equal(made.code, 0, made.stderr);
      const apiKey = JSON.parse(made.stdout).key;
      const one = await begin(0);
      const other = await begin(DAY_MS);
      const api = [one, other].map(({ url }) => createClient(url, apiKey));
      const created = await api[0]!.post("/v1/webhooks", { url: `${receiver.url}/all` });
      assert.equal(created.status, 201, JSON.stringify(created.body));
      await passed(1_500);
      for (let n = 1; n <= CARDS; n++) await register(api[n % 2]!, n);
      const received = await receiver.until(CARDS, 30_000);
      await passed(1_000);
      const ids = received.map(({ headers }) => headers["webhook-id"]);
      const histories = await Promise.all(api.map(async (client) => (await client.get("/v1/events")).body.events));
      assert.deepEqual(histories[1], histories[0]);
      // Posts begin in the order of the log. Parallel posts may arrive in another order.
      assert.deepEqual(ids.toSorted(), histories[0].map(({ id }: { id: string }) => id).toSorted());

      await one.gateway.kill();
      await register(api[1]!, 99);
      const more = await receiver.until(CARDS + 1, 40_000);
      assert.ok(more.length > CARDS, `nobody took over from the gateway that was killed:\n${other.gateway.log()}`);
      assert.equal(JSON.parse(more[CARDS]!.body).event.deviceHash, cardOf(99));
      for (const { log } of gateways) assert.ok(!log().includes(PASSWORD));
    });

    test("serve while an operator uses the commands keygen, keys, webhooks and doctor", async () => {
      const serving = await startServe(flagsFor(sandbox.info, { store: store() }), { env: { PGPASSWORD: PASSWORD } });
      try {
        const listening = serving.lines().find(({ message }) => message === "gateway is listening");
        assert.equal(listening!.store, `postgres://127.0.0.1:${database.port}/${database.name}`);
        const made = await command("keygen", "--name", "till", "--scopes", "read", "--json");
        const { key, id } = JSON.parse(made.stdout);
        const status = async () => (await createClient(serving.url, key).get("/v1/network")).status;
        assert.equal(await status(), 200);
        assert.equal((await command("keys", "disable", id)).code, 0);
        await passed(1_100);
        assert.equal(await status(), 401);
        assert.match((await command("keys", "list")).stdout, /till/);
        assert.match((await command("webhooks", "list")).stdout, /\/all/);
        const flags = ["network-passphrase", "rpc-url"].flatMap((flag) => [`--${flag}`, flagsFor(sandbox.info)[flag]!]);
        const doctor = await command("doctor", ...flags);
        assert.match(
          doctor.stdout,
          /store +postgres:\/\/127\.0\.0\.1:\d+\/test_\w+ is writable; a gateway serves from it/,
        );
      } finally {
        serving.signal("SIGTERM");
        assert.equal(await serving.ended, 0);
      }
    });

    test("have a store for which the commands refuse backup, a password in a flag, and a missing schema", async () => {
      const backup = await command("backup", "copy.db");
      assert.equal(backup.code, 2);
      assert.match(backup.stderr, /pg_dump/);
      const listed = await command("keys", "list", "--store", "postgres://gateway:secret-here@127.0.0.1/gateway");
      assert.equal(listed.code, 2);
      assert.match(listed.stderr, /PGPASSWORD/);
      assert.ok(!listed.stderr.includes("secret-here"));
      const none = await command("keys", "list", "--store", `${store()}?schema=none`);
      assert.equal(none.code, 1);
      assert.match(none.stderr, /there is no store yet/);
    });
  });
}

const programs = findPostgres();
if (programs !== undefined) describeGateways(programs);
else {describe("gateways on PostgreSQL", () =>
    void test("need PostgreSQL's programs, which are not installed", { skip: true }));}
