import { StrKey } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { UsageError } from "../../cli/command.ts";
import { command } from "../../cli/doctor.ts";
import { type ExaminationParts, examine } from "../../cli/doctor_checks.ts";
import type { Finding } from "../../cli/doctor_findings.ts";
import { readConfig, type SettingName } from "../../lib/config.ts";
import { type HttpServer, serveHttp } from "../../lib/runtime/serve.ts";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { openStore } from "../../lib/store/open_store.ts";
import { APPLICATION_ID, MIGRATIONS } from "../../lib/store/sqlite_schema.ts";
import type { Store } from "../../lib/store/store.ts";
import { sealSecrets } from "../../lib/webhooks/reseal.ts";
import { createSecretBox } from "../../lib/webhooks/secrets.ts";
import { addressVal, deviceKey, hashVal, registryKey } from "../../lib/escrow/storage_keys.ts";
import type { RawLedgerEntry } from "../../lib/stellar/rpc.ts";
import { type Sandbox, startSandbox } from "../escrow/sandbox.ts";
import { sampleEvent, sampleKey, sampleState } from "../store/samples.ts";
import { fakeIo } from "./fake_io.ts";

const NODE = "http://node.test/secret-token";
const NOWHERE = StrKey.encodeContract(new Uint8Array(32).fill(7));
const DEVICE = "5a".repeat(32);

let folder: string;
let sandbox: Sandbox;
let count = 0;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "doctor-"));
  sandbox = await startSandbox();
});
after(() => rm(folder, { recursive: true }));

const newPath = (name = "gateway.db") => join(folder, `${count++}-${name}`);

type Settings = Partial<Record<SettingName, string>>;

function settingsFor(settings: Settings): Settings {
  return {
    rpcUrls: NODE,
    networkPassphrase: sandbox.network.passphrase,
    ...sandbox.contracts,
    port: "0",
    store: `sqlite:${newPath()}`,
    ...settings,
  };
}

/** What the doctor finds in a gateway that would be well, but for these settings and parts. */
async function examined(settings: Settings = {}, parts: Partial<ExaminationParts> = {}): Promise<Finding[]> {
  const findings: Finding[] = [];
  const all = {
    config: readConfig({}, settingsFor(settings)),
    target: undefined,
    fetch: sandbox.fetch,
    resolve: () => Promise.reject(new Error("nothing is looked up")),
    now: sandbox.nowMs,
    wait: () => Promise.resolve(),
    ...parts,
  };
  for await (const finding of examine(all)) findings.push(finding);
  return findings;
}

const notWell = (findings: Finding[]) => findings.filter(({ verdict }) => verdict !== "ok" && verdict !== "skip");

/** The one finding of a check. */
async function finding(check: string, settings: Settings = {}, parts: Partial<ExaminationParts> = {}) {
  const found = (await examined(settings, parts)).filter((one) => one.check === check);
  assert.equal(found.length, 1, `${check}: ${JSON.stringify(found)}`);
  return found[0]!;
}

function says({ verdict, found, todo }: Finding, expected: Finding["verdict"], what: RegExp, then?: RegExp): void {
  assert.equal(verdict, expected, found);
  assert.match(found, what);
  if (then !== undefined) assert.match(todo!, then);
  assert.ok(!`${found}${todo}`.includes("secret-token"), "the node's token was shown");
}

async function storeWith(fill: (store: Store) => Promise<unknown>): Promise<string> {
  const setting = `sqlite:${newPath()}`;
  const store = await openStore(setting);
  await fill(store);
  await store.close();
  return setting;
}

const rpcAnswer =
  (change: (result: Record<string, unknown>, method: string) => unknown): ExaminationParts["fetch"] =>
  async (url, init) => {
    const { method } = JSON.parse(String(init.body));
    const answer = await (await sandbox.fetch(url, init)).json();
    return Response.json({ ...answer, result: change(answer.result, method) });
  };

/** The real node, but for what it says of the ledger's entries. */
const withEntries = (change: (entry: RawLedgerEntry) => RawLedgerEntry[]) =>
  rpcAnswer((result, method) => {
    if (method !== "getLedgerEntries") return result;
    return { ...result, entries: (result.entries as RawLedgerEntry[]).flatMap(change) };
  });

describe("doctor: the store", () => {
  test("a gateway that is set up well has nothing wrong", async () => {
    const store = await storeWith(async (store) => {
      await store.bindNetwork(sandbox.network.passphrase);
      await store.insertKey(sampleKey("a"));
    });
    const findings = await examined({ store });
    assert.deepEqual(notWell(findings), []);
    assert.deepEqual(findings.map(({ check }) => check), [
      "store",
      "api keys",
      "webhook secrets",
      "port",
      "rpc node",
      "clock and ledger",
      "history",
      "device registry",
      "agent registry",
      "payment escrow",
      "escrow's registries",
      "reads",
    ]);
  });

  test("a store that is not there yet is fine, and is not made", async () => {
    const path = newPath();
    says(await finding("store", { store: `sqlite:${path}` }), "ok", /is not there yet/);
    await assert.rejects(openSqlite(path, { readOnly: true }));
  });

  test("a store that a gateway serves from is fine", async () => {
    const setting = `sqlite:${newPath()}`;
    const store = await openStore(setting);
    await store.holdForServing();
    says(await finding("store", { store: setting }), "ok", /a gateway serves from it/);
    await store.close();
  });

  test("a store of another network, a newer schema, or a directory that is not there is not", async () => {
    const bound = await storeWith((store) => store.bindNetwork("Another Network"));
    says(await finding("store", { store: bound }), "fail", /belongs to the network "Another Network"/, /PASSPHRASE/);
    const newer = await storeWith(async () => {});
    const database = await openSqlite(newer.slice(7));
    database.exec("PRAGMA user_version = 99");
    database.close();
    says(await finding("store", { store: newer }), "fail", /newer version/, /run the newer version/);
    says(await finding("store", { store: `sqlite:${folder}/none/g.db` }), "fail", /no directory/, /SERVICE_API_STORE/);
  });

  test("a store that another program has locked is told from one that a gateway serves from", async () => {
    const setting = await storeWith(async () => {});
    const other = await openSqlite(setting.slice(7));
    other.exec("BEGIN EXCLUSIVE");
    says(await finding("store", { store: setting }), "fail", /is locked by another process/, /lsof/);
    other.close();
  });

  test("a store of an older schema is left as it is, and what will happen is said", async () => {
    const path = newPath();
    const database = await openSqlite(path);
    database.exec(`${MIGRATIONS[0]}; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 1`);
    says(await finding("store", { store: `sqlite:${path}` }), "warn", /has schema 1/, /keeps a copy/);
    assert.equal(database.prepare("PRAGMA user_version").get()?.user_version, 1);
    database.close();
  });
});

describe("doctor: keys and secrets", () => {
  test("no key, and none that works, is worth a word", async () => {
    says(await finding("api keys"), "warn", /holds no API keys/, /gateway keygen/);
    const disabled = await storeWith((store) => store.insertKey(sampleKey("a", { disabled: true })));
    says(await finding("api keys", { store: disabled }), "warn", /none of the 1 keys/, /keys enable/);
  });

  test("a keys file that is missing, wrong, or open to others is not well", async () => {
    const keysFile = newPath("keys.json");
    says(await finding("api keys", { keysFile }), "fail", /is not there/, /keygen .*--keys-file/);
    await writeFile(keysFile, "{", { mode: 0o600 });
    says(await finding("api keys", { keysFile }), "fail", new RegExp(keysFile));
    await writeFile(keysFile, JSON.stringify([sampleKey("a")]));
    says(await finding("api keys", { keysFile }), "ok", /1 of 1 .* works/);
    await chmod(keysFile, 0o644);
    says(await finding("api keys", { keysFile }), "fail", /mode 644/, /chmod 600/);
  });

  test("SERVICE_API_KEYS is read too", async () => {
    says(await finding("api keys", { keys: JSON.stringify([sampleKey("a")]) }), "ok", /SERVICE_API_KEYS/);
    says(await finding("api keys", { keys: "[{}]" }), "fail", /SERVICE_API_KEYS: key record 1/);
  });

  test("a secrets key that is missing, another, or malformed is told", async () => {
    const secretsKey = "ab".repeat(32);
    const setting = await storeWith((store) => sealSecrets(store, createSecretBox(secretsKey)));
    says(await finding("webhook secrets", { store: setting, secretsKey }), "ok", /sealed with the key/);
    says(await finding("webhook secrets", { store: setting }), "fail", /SERVICE_API_SECRETS_KEY is not set/);
    const another = await finding("webhook secrets", { store: setting, secretsKey: "cd".repeat(32) });
    says(another, "fail", /not the key/);
  });
});

describe("doctor: the node", () => {
  const node = (fetch: ExaminationParts["fetch"], check = "rpc node") => finding(check, {}, { fetch });

  test("tells a node that is down from one that answers nonsense, and skips the contracts", async () => {
    const down = await node(() => Promise.reject(new TypeError("connection refused")));
    says(down, "fail", /http:\/\/node\.test could not be reached/, /firewall/);
    const busy = await node(() => Promise.resolve(new Response("busy", { status: 503 })));
    says(busy, "fail", /answered HTTP 503/, /see whether it runs/);
    const page = await node(() => Promise.resolve(new Response("<html>")));
    says(page, "fail", /not JSON/, /SERVICE_API_RPC_URL/);
    const lost = await node(() => Promise.resolve(new Response(null, { status: 404 })));
    says(lost, "fail", /answered HTTP 404/, /SERVICE_API_RPC_URL/);
    const findings = await examined({}, { fetch: () => Promise.reject(new TypeError("refused")) });
    assert.deepEqual(findings.at(-1), {
      check: "contracts",
      verdict: "skip",
      found: "no node of this network answers",
    });
  });

  test("tells a node that says it is not well", async () => {
    const ill = await node(async (url, init) => {
      const { method, id } = JSON.parse(String(init.body));
      if (method !== "getHealth") return await sandbox.fetch(url, init);
      return Response.json({ jsonrpc: "2.0", id, error: { code: -32603, message: "data stores are not initialized" } });
    });
    says(ill, "fail", /is not well: .*data stores/, /caught up/);
  });

  test("tells a wrong passphrase, naming both", async () => {
    const wrong = await finding("rpc node", { networkPassphrase: "Test SDF Network ; September 2015" });
    says(wrong, "fail", /is of the network ".*", the settings say "Test SDF Network/, /NETWORK_PASSPHRASE/);
  });

  test("looks at every node of the settings", async () => {
    const findings = await examined({ rpcUrls: `http://down.test,${NODE}` }, {
      fetch: (url, init) => url.includes("down") ? Promise.reject(new TypeError("refused")) : sandbox.fetch(url, init),
    });
    const nodes = findings.filter(({ check }) => check === "rpc node");
    assert.deepEqual(nodes.map(({ verdict }) => verdict), ["fail", "ok"]);
    assert.ok(findings.some(({ check, verdict }) => check === "payment escrow" && verdict === "ok"));
  });

  test("tells this machine's clock from a ledger that stands still", async () => {
    const clock = (parts: Partial<ExaminationParts>) => finding("clock and ledger", {}, parts);
    const hourLater = () => sandbox.nowMs() + 3_600_000;
    says(await clock({ now: () => sandbox.nowMs() - 60_000 }), "fail", /clock is 60 s behind/, /NTP/);
    says(await clock({ now: hourLater }), "fail", /closed 3600 s ago, and none has since/, /stands still/);
    const wait = () => Promise.resolve(void sandbox.network.closeLedger());
    says(await clock({ now: hourLater, wait }), "fail", /ledgers close at .*it is ahead/, /set the clock/);
    says(await clock({ now: () => sandbox.nowMs() + 20_000 }), "ok", /closed 20 s ago/);
  });

  test("says what of the history is lost when the gateway was off for longer than the node keeps it", async () => {
    const { sequence } = sandbox.network.latestLedger();
    const store = await storeWith((store) =>
      store.commitEvents({ events: [], state: sampleState(2, { latestLedger: 3 }) })
    );
    const pruned = rpcAnswer((result, method) => method === "getHealth" ? { ...result, oldestLedger: 6 } : result);
    assert.ok(sequence > 6);
    says(await finding("history", { store }, { fetch: pruned }), "fail", /ledgers 3–5 are gone/, /gap/);
    says(await finding("history", { store }), "ok", /read up to ledger 2; the node holds ledgers/);
    const ahead = await storeWith((store) => store.commitEvents({ events: [], state: sampleState(9_999) }));
    says(await finding("history", { store: ahead }), "warn", /up to ledger 9999, the node has come to/, /reset/);
  });
});

describe("doctor: the contracts", () => {
  test("tells an id that does not exist, an asset, swapped ids and an interface of something else", async () => {
    const { deviceRegistry, agentRegistry, paymentEscrow } = sandbox.contracts;
    says(await finding("payment escrow", { paymentEscrow: NOWHERE }), "fail", /no contract C/, /PAYMENT_ESCROW.*reset/);
    says(await finding("agent registry", { agentRegistry: sandbox.asset }), "fail", /contract of an asset/);
    const swapped = { deviceRegistry: agentRegistry, agentRegistry: deviceRegistry };
    says(await finding("device registry", swapped), "fail", /is the agent registry, not the device/, /swapped/);
    const same = await finding("device registry", { deviceRegistry: paymentEscrow });
    says(same, "fail", /is the payment escrow/);
  });

  test("tells an escrow that was initialised with other registries than the settings name", async () => {
    const { agentRegistry, paymentEscrow } = sandbox.contracts;
    const key = registryKey(paymentEscrow, "AgentRegistry");
    const bytes = (id: string) => String.fromCharCode(...StrKey.decodeContract(id));
    const others = withEntries((entry) => [
      entry.key === key
        ? { ...entry, xdr: btoa(atob(entry.xdr).replace(bytes(agentRegistry), bytes(NOWHERE))) }
        : entry,
    ]);
    const other = await finding("escrow's registries", {}, { fetch: others });
    says(other, "fail", new RegExp(`its agent registry is ${NOWHERE}`), /SERVICE_API_AGENT_REGISTRY/);
    const none = withEntries((entry) => entry.key === key ? [] : [entry]);
    says(await finding("escrow's registries", {}, { fetch: none }), "fail", /is not initialised/, /initialize/);
  });

  test("reads a known card both ways", async () => {
    const { owner, agent, contracts } = sandbox;
    const address = (keypair: typeof owner) => keypair.publicKey();
    sandbox.invoke(
      owner,
      contracts.deviceRegistry,
      "register",
      addressVal(address(owner)),
      hashVal(DEVICE),
      addressVal(address(agent)),
    );
    const store = await storeWith((store) =>
      store.commitEvents({
        events: [sampleEvent(1, { type: "device.registered", deviceHash: DEVICE })],
        state: sampleState(2, { latestLedger: 3 }),
      })
    );
    says(await finding("reads", { store }), "ok", /say the same/);
    const key = deviceKey(contracts.deviceRegistry, DEVICE);
    const withoutDevice = withEntries((entry) => entry.key === key ? [] : [entry]);
    const differing = await finding("reads", { store }, { fetch: withoutDevice });
    says(differing, "warn", /say different things \(device\)/, /reads by calls/);
  });
});

describe("doctor: port and target", () => {
  let server: HttpServer;
  const listen = async (answer: Response) => {
    server = await serveHttp({ hostname: "127.0.0.1", port: 0, idleTimeoutMs: 1_000, fetch: () => answer });
    return String(server.port);
  };
  /** Nodes are asked without a port, the port itself for real. */
  const fetch: ExaminationParts["fetch"] = (url, init) =>
    url.startsWith(NODE) ? sandbox.fetch(url, init) : globalThis.fetch(url, init);

  test("a port that is taken by another program, or by another gateway, is named", async () => {
    const port = await listen(new Response("hello"));
    says(
      await finding("port", { port }, { fetch }),
      "fail",
      new RegExp(`127\\.0\\.0\\.1:${port}: the port is in use$`),
    );
    await server.stop({ drainMs: 0 });
    const gatewayPort = await listen(Response.json({ ok: true }));
    says(await finding("port", { port: gatewayPort }, { fetch }), "fail", /in use, by another gateway/, /--port/);
    await server.stop({ drainMs: 0 });
    says(await finding("port", { port: gatewayPort }, { fetch }), "ok", /is free/);
  });

  test("a port where the gateway answers that serves from this store is fine", async () => {
    const setting = `sqlite:${newPath()}`;
    const store = await openStore(setting);
    await store.holdForServing();
    const port = await listen(Response.json({ ok: true }));
    says(await finding("port", { port, store: setting }, { fetch }), "ok", /a gateway answers there/);
    await server.stop({ drainMs: 0 });
    await store.close();
  });

  test("a webhook's target is judged by what its host is now", async () => {
    const target = (target: string, address: string) =>
      finding("webhook target", {}, { target, resolve: () => Promise.resolve([address]) });
    says(
      await target("https://shop.example.com/hook", "93.184.216.34"),
      "ok",
      /shop\.example\.com .* 93\.184\.216\.34/,
    );
    says(await target("https://shop.example.com/hook", "10.0.0.1"), "fail", /must be public/, /public addresses/);
    says(await target("http://shop.example.com/hook", "93.184.216.34"), "fail", /https/);
  });
});

describe("gateway doctor", () => {
  let rpc: HttpServer;
  let args: string[];
  before(async () => {
    rpc = await serveHttp({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeoutMs: 1_000,
      fetch: async (request) =>
        await sandbox.fetch(NODE, { method: "POST", headers: request.headers, body: await request.text() }),
    });
    const { deviceRegistry, agentRegistry, paymentEscrow } = sandbox.contracts;
    const flags = {
      "rpc-url": rpc.url,
      "network-passphrase": sandbox.network.passphrase,
      "device-registry": deviceRegistry,
      "agent-registry": agentRegistry,
      "payment-escrow": paymentEscrow,
      "port": "0",
      "store": `sqlite:${newPath()}`,
    };
    args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]);
  });
  after(() => rpc.stop({ drainMs: 0 }));

  const run = async (args: string[], env: Record<string, string> = {}) => {
    const io = fakeIo({ env, now: sandbox.nowMs() });
    return { code: await command.run(args, io), out: io.out, err: io.err };
  };

  test("prints a line for each check, what to do under it, and a summary; warnings are no failure", async () => {
    const { code, out } = await run(args, { SERVICE_API_PROT: "1" });
    assert.equal(code, 0, out);
    assert.match(out, /^warn {2}settings +SERVICE_API_PROT is no setting\n +→ see gateway help serve/);
    assert.match(out, /^warn {2}api keys .*\n +→ create one: gateway keygen/m);
    assert.match(out, /^ok {4}payment escrow +C[A-Z2-7]{55} has the expected interface \(code [0-9a-f]{12}…\)$/m);
    assert.match(out, /\n\n\d+ ok, 2 warnings, 1 skipped\n$/);
  });

  test("exits with 1 when something failed, and prints one line of JSON with --json", async () => {
    const { code, out } = await run([...args, "--json", "--target", "http://127.0.0.1/hook"]);
    assert.equal(code, 1);
    assert.equal(out.split("\n").length, 2);
    const { ok, checks } = JSON.parse(out);
    assert.equal(ok, false);
    assert.deepEqual(checks.filter(({ verdict }: Finding) => verdict === "fail").map(({ check }: Finding) => check), [
      "webhook target",
    ]);
    assert.deepEqual(Object.keys(checks.at(-1)), ["check", "verdict", "found", "todo"]);
  });

  test("a wrong setting is a finding like any other, a wrong flag is not", async () => {
    const { code, out } = await run([], { SERVICE_API_POLL_MS: "soon" });
    assert.equal(code, 1);
    assert.match(out, /^fail {2}settings +SERVICE_API_POLL_MS must be an integer .*, got "soon"\n +→ correct it/);
    await assert.rejects(run(["--prot", "1"]), UsageError);
  });
});
