import { createHash } from "node:crypto";
import { exampleValuesOf } from "../../cli/sandbox/running_sandbox.ts";
import { EXAMPLE, withValuesOf } from "../../lib/escrow/example_values.ts";
import type { Examples } from "../../lib/http/openapi.ts";
import { operationsOf } from "../../lib/http/openapi.ts";
import { NOUNS } from "../../lib/http/routes/routes.ts";
import { type Answer, signed } from "../e2e/client.ts";
import { type Receiver, startReceiver } from "../e2e/receiver.ts";
import { until } from "../until.ts";
import { failures, invalidRequests } from "./openapi_failures.ts";
import { type GatewayUnderTest, startGateway, startTestNetwork, type TestNetwork } from "./test_gateway.ts";

const OPERATIONS = operationsOf(NOUNS);
const CARD = createHash("sha256").update("card 04:A2:2B:11").digest("hex");
const UNKNOWN = "00".repeat(32);

/** A run that records its answers as examples. */
class Run {
  readonly examples: Examples = {
    operations: {},
    errors: {},
    invalidRequests: {},
    delivery: { headers: {}, body: undefined },
  };

  constructor(readonly on: TestNetwork, readonly api: GatewayUnderTest) {}

  /** Calls an endpoint by its operation id and records the answer under a name, and its first path and query values. */
  async ask(id: string, name: string, { params = {}, query = {}, body, key }: {
    params?: Record<string, string>;
    query?: Record<string, string>;
    body?: unknown;
    key?: string | null;
  } = {}): Promise<Answer> {
    const { method, path } = OPERATIONS.find(({ spec }) => spec.operationId === id)!;
    const filled = path.replace(/:(\w+)/g, (_, param: string) => params[param]!);
    const search = new URLSearchParams(query).toString();
    const answer = await this.api.request(method.toUpperCase(), filled + (search && `?${search}`), { body, key });
    const own = this.examples.operations[id] ??= { responses: {} };
    if (answer.status < 400) {
      own.parameters ??= { ...params, ...query };
      if (body !== undefined) (own.requests ??= {})[name] = body;
    }
    ((own.responses[String(answer.status)] ??= {})[name]) = answer.body;
    if (answer.status >= 400) this.examples.errors[answer.body.error.code] ??= answer.body;
    return answer;
  }

  /** Records an error that any endpoint may answer, not as an example of the endpoint. */
  async fail(request: () => Promise<Answer>): Promise<void> {
    const { body } = await request();
    this.examples.errors[body.error.code] = body;
  }

  /** Prepares and signs without a record. */
  async signedEnvelope(
    who: "owner" | "agent" | "merchant",
    operation: Record<string, unknown>,
  ): Promise<{ xdr: string; hash: string }> {
    const { address, secret } = this.on.sandbox.accounts[who];
    const { body } = await this.api.request("POST", "/v1/transactions/prepare", {
      body: { source: address, operation },
    });
    return { xdr: signed(body.xdr, body.networkPassphrase, secret), hash: body.hash };
  }

  /** Prepares, signs and submits. */
  async write(
    name: string,
    who: "owner" | "agent" | "merchant",
    operation: Record<string, unknown>,
    named: { reference?: string } = {},
  ): Promise<Answer> {
    const { address, secret } = this.on.sandbox.accounts[who];
    const prepared = await this.ask("prepareTransaction", name, { body: { source: address, operation, ...named } });
    const xdr = signed(prepared.body.xdr, prepared.body.networkPassphrase, secret);
    return await this.ask("submitTransaction", name, { body: { xdr } });
  }
}

/** Records a card's life, every endpoint and every error, on a new network and gateway. */
export async function recordExamples(): Promise<Examples> {
  const on = await startTestNetwork();
  const endpoint = { status: 200 };
  const receiver = await startReceiver(() => endpoint.status);
  const api = await startGateway(on, {
    targets: { allowLoopbackHttp: true },
    settings: { rpcUrls: "https://rpc.example.com" },
  });
  const run = new Run(on, api);
  try {
    await readsBefore(run);
    const webhook = await webhooks(run, receiver);
    await cardLife(run, webhook);
    await history(run, receiver, webhook);
    await refusedDelivery(run, endpoint, webhook);
    await run.ask("deleteWebhook", "deleted", { params: { id: webhook.id } });
    await refusals(run);
    await failures(run);
    await invalidRequests(run);
    const recorded = JSON.stringify(run.examples);
    return JSON.parse(withValuesOf(EXAMPLE, recorded, exampleValuesOf(on.sandbox, receiver.url)));
  } finally {
    await api.stop();
    await receiver.stop();
    await on.network.stop();
  }
}

async function readsBefore(run: Run): Promise<void> {
  await run.ask("getHealth", "alive");
  await run.ask("getNetwork", "network");
  await run.ask("getReconciliation", "not_found");
  await run.ask("getAsset", "native", { params: { asset: run.on.sandbox.asset } });
  await run.ask("getDevice", "device_not_found", { params: { hash: UNKNOWN } });
  await run.ask("getDevicePolicy", "agent_not_found", { params: { hash: UNKNOWN } });
}

async function webhooks(run: Run, { url }: Receiver): Promise<{ id: string }> {
  const body = { url: `${url}/hook`, types: ["payment.authorized", "payment.claimed"] };
  const { body: webhook } = await run.ask("createWebhook", "payments", { body });
  await run.ask("createWebhook", "private_address", { body: { url: "https://10.0.0.1/hook" } });
  await run.ask("listWebhooks", "webhooks");
  await run.ask("getWebhook", "webhook", { params: { id: webhook.id } });
  await run.ask("getWebhook", "not_found", { params: { id: "wh_unknown" } });
  await run.ask("testWebhook", "delivered", { params: { id: webhook.id } });
  return webhook;
}

/** Waits until the store has this many attempts, which is a moment after their answers. */
async function posted({ api }: Run, { id }: { id: string }, count: number): Promise<void> {
  await until(async () => (await api.request("GET", `/v1/webhooks/${id}/deliveries`)).body.deliveries.length === count);
}

async function cardLife(run: Run, webhook: { id: string }): Promise<void> {
  const { accounts: { owner, agent, merchant }, asset } = run.on.sandbox;
  const amount = "40000000";
  const card = { deviceHash: CARD };
  await run.write("registerDevice", "owner", { kind: "registerDevice", ...card, agent: agent.address });
  await run.ask("getDevice", "no_policy", { params: { hash: CARD } });
  const policy = { agent: agent.address, asset, maxAmount: "50000000" };
  await run.write("registerAgent", "owner", { kind: "registerAgent", ...card, ...policy });
  const fund = await run.write("fundEscrow", "owner", { kind: "fundEscrow", ...card, asset, amount: "100000000" });
  await run.ask("getTransaction", "success", { params: { hash: fund.body.hash } });
  await run.ask("getDevice", "policy", { params: { hash: CARD } });
  await run.ask("getDevicePolicy", "policy", { params: { hash: CARD } });
  await run.ask("listWalletDevices", "devices", { params: { address: owner.address } });
  await run.ask("checkPayment", "would_pass", { body: { ...card, asset, amount } });
  await run.ask("checkPayment", "would_fail", { body: { ...card, asset, amount: "60000000" } });
  const authorize = { kind: "authorize", ...card, merchant: merchant.address, asset };
  await run.write("authorize", "agent", { ...authorize, amount }, { reference: "order 1042" });
  await posted(run, webhook, 2);
  await run.ask("getPendingPayments", "pending", { params: { address: merchant.address } });
  await run.ask("prepareTransaction", "contract_refused", {
    body: { source: agent.address, operation: { ...authorize, amount: "60000000" } },
  });
  await run.write("claim", "merchant", { kind: "claim", asset });
  const overtaken = await run.signedEnvelope("owner", { kind: "defundEscrow", ...card, asset, amount: "20000000" });
  const unauthorised = await run.signedEnvelope("agent", { ...authorize, amount: "10000000" });
  await run.write("defundEscrow", "owner", { kind: "defundEscrow", ...card, asset, amount: "10000000" });
  await run.write("revokeAgent", "owner", { kind: "revokeAgent", ...card });
  await run.ask("submitTransaction", "rejected", { body: { xdr: overtaken.xdr } });
  await run.ask("getTransaction", "rejected", { params: { hash: overtaken.hash } });
  await run.ask("submitTransaction", "refused_in_ledger", { body: { xdr: unauthorised.xdr } });
  await run.ask("getTransaction", "failed", { params: { hash: unauthorised.hash } });
  const named = { query: { reference: "order 1042" } };
  await until(async () => {
    const { body } = await run.api.request("GET", "/v1/transactions?reference=order%201042");
    return body.transactions[0].status === "success";
  });
  await run.ask("listTransactions", "submitted", named);
  await run.write("sweepEscrow", "owner", { kind: "sweepEscrow", ...card, asset, agent: agent.address });
  await run.write("revokeDevice", "owner", { kind: "revokeDevice", ...card });
}

async function history(run: Run, { received }: Receiver, { id }: { id: string }): Promise<void> {
  const { api } = run;
  await until(async () => (await api.request("GET", "/v1/events")).body.events.length === 9);
  // The log has an event at once, but `oldestLedger` only when a second answer confirms the ledger.
  await until(async () => (await api.request("GET", "/v1/events")).body.oldestLedger !== null);
  await until(() => received.length === 3);
  const { headers, body } = received.find(({ body }) => body.includes("payment.authorized"))!;
  const shown = ["x-service-signature", "webhook-id", "webhook-timestamp", "webhook-signature"];
  run.examples.delivery = {
    headers: Object.fromEntries(
      shown.map((name) => [name === "x-service-signature" ? "X-Service-Signature" : name, headers[name] as string]),
    ),
    body: JSON.parse(body),
  };
  const { body: page } = await run.ask("listEvents", "history", { query: { fromLedger: "1", limit: "9" } });
  run.examples.operations.streamEvents = { responses: { 200: { event: await firstOfStream(api) } } };
  await until(async () => (await api.request("GET", "/v1/payments?state=claimed")).body.payments.length === 1);
  await run.ask("listPayments", "claimed", { query: { state: "claimed", limit: "10" } });
  const params = { id };
  await posted(run, params, 3);
  await run.ask("getPayment", "claimed", { params: { id: page.events[3].id } });
  await run.ask("getPayment", "not_found", { params: { id: "0000000000000000001-0000000001" } });
  await run.ask("getEvent", "payment_authorized", { params: { id: page.events[3].id } });
  await run.ask("getEvent", "not_found", { params: { id: "0000000000000000001-0000000001" } });
  const { body: { deliveries } } = await run.ask("listWebhookDeliveries", "attempts", {
    params,
    query: { limit: "3" },
  });
  await run.ask("getWebhookDelivery", "sent", { params: { id, attempt: deliveries[0].id } });
  await run.ask("replayWebhook", "dry_run", { params, body: { fromLedger: 1, dryRun: true } });
  await run.ask("replayWebhook", "begun", { params, body: { fromLedger: 1 } });
  await posted(run, params, 5);
  await until(async () => (await api.request("GET", "/v1/status")).body.deliveries.pending === 0);
  await until(async () => (await api.request("GET", "/v1/status")).body.solvency?.assets[0]?.held === "0");
  await run.ask("rotateWebhookSecret", "rotated", { params });
  await run.ask("getStatus", "status");
  await api.gateway.tidy(30_000);
  await run.ask("getReconciliation", "agrees");
}

/** Records a delivery that the endpoint rejects with 410 at a replay. */
async function refusedDelivery(run: Run, endpoint: { status: number }, { id }: { id: string }): Promise<void> {
  const { api } = run;
  endpoint.status = 410;
  const { body: { deliveries: [{ eventId }] } } = await api.request("GET", `/v1/webhooks/${id}/deliveries`);
  // The previous replay may still be under way.
  const replay = () => api.request("POST", `/v1/webhooks/${id}/replay`, { body: { eventId } });
  await until(async () => (await replay()).status === 202);
  await until(async () => (await api.request("GET", `/v1/webhooks/${id}`)).body.rejected === 1);
  await run.ask("listWebhookDeliveries", "rejected", { params: { id }, query: { state: "rejected" } });
}

/** The data of the first event that a stream sends. */
async function firstOfStream({ gateway, apiKey }: GatewayUnderTest): Promise<unknown> {
  const request = new Request("http://gateway.test/v1/events/stream?fromLedger=1", {
    headers: { authorization: `Bearer ${apiKey}` },
  });
  const { body } = await gateway.fetch(request, { remoteAddress: "198.51.100.7" });
  let text = "";
  for await (const part of body!.pipeThrough(new TextDecoderStream())) {
    const data = /^data: ?(\{.*\})$/m.exec(text += part)?.[1];
    if (data !== undefined) return JSON.parse(data);
  }
  throw new Error("the stream ended without an event");
}

async function refusals(run: Run): Promise<void> {
  const { owner } = run.on.sandbox.accounts;
  const operation = { kind: "revokeDevice", deviceHash: CARD };
  const stranger = "GAAZI4TCR3TY5OJHCTJC2A4QSY6CJWJH5IAJTGKIN2ER7LBNVKOCCWN7";
  await run.ask("prepareTransaction", "unknown_account", { body: { source: stranger, operation } });
  await run.ask("prepareTransaction", "mistyped_field", {
    body: { source: owner.address, operation: { ...operation, devicehash: CARD } },
  });
  await run.ask("submitTransaction", "unsigned", {
    body: { xdr: (run.examples.operations.prepareTransaction!.responses["200"]!.revokeDevice as { xdr: string }).xdr },
  });
  await run.ask("getTransaction", "not_found", { params: { hash: UNKNOWN } });
}
