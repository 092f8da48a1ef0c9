import { Keypair } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, before } from "node:test";
import type { SettingName } from "../../lib/config.ts";
import { readConfig } from "../../cli/read_config.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { createGateway, type Gateway, type GatewayOptions } from "../../lib/gateway/gateway.ts";
import { mintKey } from "../../lib/keys/api_key.ts";
import { keySourceFromStore } from "../../lib/keys/key_source.ts";
import { createLog } from "../../lib/log.ts";
import type { Sandbox } from "../../lib/sandbox/bootstrap.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { createRpcServer } from "../../lib/sandbox/rpc/server.ts";
import { openStore } from "../../lib/store/open.ts";
import { type Scope, SCOPES, type Store } from "../../lib/store/store.ts";
import { type Answer, signed } from "../e2e/client.ts";
import { type Family, parseExposition } from "../exposition.ts";
import { type ReadyNetwork, readyNetwork } from "../sandbox/ready_network.ts";

export type RpcFetch = (url: string, init: RequestInit) => Promise<Response>;

/** A real network, real contracts and their RPC server, without a port. */
export interface TestNetwork {
  network: SandboxNetwork;
  sandbox: Sandbox;
  fetch: RpcFetch;
}

/** A ready network: see `readyNetwork` for what two of them share. */
export async function startTestNetwork(passphrase?: string): Promise<TestNetwork> {
  return testNetworkOf(await readyNetwork({ passphrase }));
}

/** A network with its RPC server. */
export function testNetworkOf({ network, sandbox }: ReadyNetwork): TestNetwork {
  const rpc = createRpcServer({ network, version: "test", now: Date.now });
  return { network, sandbox, fetch: (url, init) => rpc.fetch(new Request(url, init)) };
}

/** The network of a file's tests, started before the first of them and stopped after the last. */
export function networkOfFile(): TestNetwork {
  const on = {} as TestNetwork;
  before(async () => void Object.assign(on, await startTestNetwork()));
  after(() => on.network.stop());
  return on;
}

/** The network of a file's tests and a gateway on it, started before the first of them and stopped after the last. */
export function gatewayOfFile(options: UnderTestOptions | ((on: TestNetwork) => UnderTestOptions) = {}) {
  const on = {} as TestNetwork;
  const api = {} as GatewayUnderTest;
  before(async () => {
    Object.assign(on, await startTestNetwork());
    Object.assign(api, await startGateway(on, typeof options === "function" ? options(on) : options));
  });
  after(async () => {
    await api.stop();
    await on.network.stop();
  });
  return { on, api };
}

/** Whose transaction it is: an account of the sandbox, or a keypair. */
export type Signer = { address: string; secret: string } | Keypair;

export interface GatewayUnderTest {
  gateway: Gateway;
  store: Store;
  /** A key with all scopes. */
  apiKey: string;
  /** Every log line so far. */
  log(): string;
  /** Mints a key into the store. */
  newKey(key?: { scopes?: Scope[]; rate?: number; expiresAt?: string; disabled?: boolean }): Promise<string>;
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  prepare(source: Signer, operation: object, options?: RequestOptions): Promise<Answer>;
  submit(xdr: string, options?: RequestOptions): Promise<Answer>;
  /** Prepares an operation, which must be prepared, and signs it. */
  signedEnvelope(source: Signer, operation: object, options?: RequestOptions): Promise<string>;
  /** Prepares, signs and submits an operation, which must be applied; answers its hash and ledger. */
  write(source: Signer, operation: object, options?: RequestOptions): Promise<{ hash: string; ledger: number }>;
  /** Registers a new device: one event in one ledger. */
  registerDevice(options?: RequestOptions): Promise<{ deviceHash: string; hash: string; ledger: number }>;
  /** The page of metrics, where the settings have METRICS_TOKEN. */
  metrics(): Promise<string>;
  /** The metrics by family. */
  scrape(): Promise<Map<string, Family>>;
  /** The first value of a metric. */
  figure(name: string): Promise<number | undefined>;
  stop(): Promise<void>;
}

/** The answer is `invalid_request` with this message; the field at fault is this one, where one is named. */
export function assertInvalid({ status, body }: Answer, message: RegExp | string, param?: string): void {
  assert.deepEqual([status, body.error?.code], [400, "invalid_request"], JSON.stringify(body));
  if (typeof message === "string") assert.equal(body.error.message, message);
  else assert.match(body.error.message, message);
  if (param !== undefined) assert.equal(body.error.param, param);
}

export const METRICS_TOKEN = "scrape-me-0123456789";

export interface RequestOptions {
  /** The key to present; the one with all scopes when absent, none when null. */
  key?: string | null;
  body?: unknown;
  headers?: Record<string, string>;
  /** Where the request comes from. */
  from?: string;
}

export interface UnderTestOptions {
  settings?: Partial<Record<SettingName, string>>;
  /** Stands between the gateway and the node. */
  fetch?: RpcFetch;
  now?: () => number;
  /** As `now` where that is given and this is not. */
  monotonicMs?: () => number;
  wait?: Clock["wait"];
  keys?: (store: Store) => GatewayOptions["keys"];
  store?: (store: Store) => Store;
  /** Whether the watcher and the background loops run; true when absent. */
  started?: boolean;
  checkAnswers?: boolean;
  bodyTimeoutMs?: number;
  targets?: GatewayOptions["targets"];
  exampleValues?: GatewayOptions["exampleValues"];
}

/** How many devices were registered by all gateways of this process. */
let devices = 0;

/** A gateway on a test network, called without a port, its answers checked against its own OpenAPI description. */
export async function startGateway(on: TestNetwork, options: UnderTestOptions = {}): Promise<GatewayUnderTest> {
  const opened = await openStore("memory:");
  const store = options.store?.(opened) ?? opened;
  const now = options.now ?? Date.now;
  const lines: string[] = [];
  const config = readConfig({}, {
    store: "memory:",
    pollMs: "50",
    rpcUrls: "http://node.test/secret-token",
    networkPassphrase: on.network.passphrase,
    ...on.sandbox.contracts,
    ...options.settings,
  });
  const keys = options.keys?.(store) ?? keySourceFromStore(store);
  const gateway = await createGateway({
    config,
    store,
    keys,
    clock: {
      now,
      monotonicMs: options.monotonicMs ?? options.now ?? systemClock.monotonicMs,
      wait: options.wait ?? systemClock.wait,
    },
    fetch: options.fetch ?? on.fetch,
    log: createLog({
      level: options.settings?.logLevel === "info" ? "info" : "debug",
      format: "json",
      now,
      write: (line) => lines.push(line),
    }),
    checkAnswers: options.checkAnswers ?? true,
    bodyTimeoutMs: options.bodyTimeoutMs,
    targets: options.targets,
    exampleValues: options.exampleValues,
  });
  if (options.started ?? true) gateway.start();

  const newKey: GatewayUnderTest["newKey"] = async (
    { scopes = [...SCOPES], rate = 100_000, disabled = false, expiresAt } = {},
  ) => {
    const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));
    const { key, record } = mintKey({
      name: "test",
      scopes,
      rate,
      now: Math.min(now(), Date.parse(expiresAt ?? "9999-01-01") - 1),
      expiresAt,
      random,
    });
    await store.keys.insert({ ...record, disabled });
    return key;
  };
  const apiKey = await newKey();

  const request: GatewayUnderTest["request"] = async (
    method,
    path,
    { key = apiKey, body, headers = {}, from = "198.51.100.7" } = {},
  ) => {
    const request = new Request(`http://gateway.test${path}`, {
      method,
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
    });
    const response = await gateway.fetch(request, { remoteAddress: from });
    // As the runtimes do.
    const text = method === "HEAD" ? "" : await response.text();
    return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
  };
  const prepare: GatewayUnderTest["prepare"] = (signer, operation, options) => {
    const source = signer instanceof Keypair ? signer.publicKey() : signer.address;
    return request("POST", "/v1/transactions/prepare", { ...options, body: { source, operation } });
  };
  const submit: GatewayUnderTest["submit"] = (xdr, options) =>
    request("POST", "/v1/transactions/submit", { ...options, body: { xdr } });
  const signedEnvelope: GatewayUnderTest["signedEnvelope"] = async (signer, operation, options) => {
    const { status, body } = await prepare(signer, operation, options);
    assert.equal(status, 200, JSON.stringify(body));
    return signed(body.xdr, body.networkPassphrase, signer instanceof Keypair ? signer.secret() : signer.secret);
  };
  const write: GatewayUnderTest["write"] = async (signer, operation, options) => {
    const { status, body } = await submit(await signedEnvelope(signer, operation, options), options);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };
  async function metrics(): Promise<string> {
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
    const request = new Request("http://gateway.test/metrics", { headers });
    const response = await gateway.fetch(request, { remoteAddress: "203.0.113.9" });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    return await response.text();
  }
  const scrape = async () => parseExposition(await metrics());

  return {
    gateway,
    store,
    apiKey,
    newKey,
    log: () => lines.join(""),
    request,
    prepare,
    submit,
    signedEnvelope,
    write,
    async registerDevice(options) {
      const { owner, agent } = on.sandbox.accounts;
      const deviceHash = (devices++).toString(16).padStart(64, "d");
      const operation = { kind: "registerDevice", deviceHash, agent: agent.address };
      return { deviceHash, ...await write(owner, operation, options) };
    },
    metrics,
    scrape,
    figure: async (name) => (await scrape()).get(name)?.samples[0]?.value,
    async stop() {
      await gateway.stop();
      await opened.close();
    },
  };
}
