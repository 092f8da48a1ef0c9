// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { exampleValuesOf } from "../../cli/sandbox/running_sandbox.ts";
import { type Answer, signed } from "../e2e/client.ts";
import { startReceiver } from "../e2e/receiver.ts";
import { until } from "../until.ts";
import { type GatewayUnderTest, startGateway, startTestNetwork, type TestNetwork } from "./test_gateway.ts";

interface Parameter {
  name?: string;
  in?: "path" | "query";
  example?: unknown;
}

interface Operation {
  operationId: string;
  parameters: Parameter[];
  requestBody?: { content: Record<string, { examples: Record<string, { value: unknown }> }> };
}

/** Sends the requests of a sandbox's own API description, as its reference page shows them. */
class Examples {
  readonly sent = new Set<string>();
  readonly #operations: { method: string; path: string; operation: Operation }[];

  constructor(readonly api: GatewayUnderTest, document: { paths: Record<string, Record<string, Operation>> }) {
    this.#operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation }))
    );
  }

  get operationIds(): string[] {
    return this.#operations.map(({ operation }) => operation.operationId);
  }

  /** The example bodies of an operation by name. */
  bodies(id: string): Record<string, unknown> {
    const examples = this.#find(id).operation.requestBody?.content["application/json"]?.examples ?? {};
    return Object.fromEntries(Object.entries(examples).map(([name, { value }]) => [name, value]));
  }

  /** The path and query of an operation; `values` replaces the ids that a gateway creates. */
  url(id: string, values: Record<string, string> = {}): string {
    const { path, operation: { parameters } } = this.#find(id);
    const valueOf = ({ name, example }: Parameter) => String(values[name!] ?? example);
    const inPath = (_: string, name: string) => valueOf(parameters.find((one) => one.name === name)!);
    const inQuery = parameters.filter((one) => one.in === "query" && one.example !== undefined);
    const query = new URLSearchParams(inQuery.map((one) => [one.name!, valueOf(one)])).toString();
    return path.replace(/\{(\w+)\}/g, inPath) + (query && `?${query}`);
  }

  /** Sends an operation, with each of its example bodies where it takes one; answers the last response. */
  async send(
    id: string,
    values: Record<string, string> = {},
    bodies = Object.values(this.bodies(id)),
  ): Promise<Answer> {
    this.sent.add(id);
    let last: Answer | undefined;
    for (const body of bodies.length === 0 ? [undefined] : bodies) {
      last = await this.api.request(this.#find(id).method, this.url(id, values), { body });
      assert.ok(last.status < 300, `${id} ${JSON.stringify(body)}: ${last.status} ${JSON.stringify(last.body)}`);
    }
    return last!;
  }

  #find(id: string) {
    return this.#operations.find(({ operation }) => operation.operationId === id)!;
  }
}

/** Prepares, signs and submits an example operation. Only the submitted envelope differs from the example. */
async function write({ sandbox }: TestNetwork, examples: Examples, body: unknown): Promise<Answer> {
  const { source } = body as { source: string };
  const { secret } = Object.values(sandbox.accounts).find(({ address }) => address === source)!;
  const { body: { xdr, networkPassphrase } } = await examples.send("prepareTransaction", {}, [body]);
  return await examples.send("submitTransaction", {}, [{ xdr: signed(xdr, networkPassphrase, secret) }]);
}

test("a sandbox accepts each example request of its API description, in the order of a card's life", async () => {
  const on = await startTestNetwork();
  const receiver = await startReceiver(() => 200);
  const exampleValues = exampleValuesOf(on.sandbox, receiver.url);
  const api = await startGateway(on, { targets: { allowLoopbackHttp: true }, exampleValues });
  try {
    const examples = new Examples(api, (await api.request("GET", "/openapi.json", { key: null })).body);
    for (const id of ["getHealth", "getNetwork", "getStatus", "getAsset", "listWebhooks"]) await examples.send(id);
    const { body: { id } } = await examples.send("createWebhook");
    for (const one of ["getWebhook", "testWebhook"]) await examples.send(one, { id });

    const reads: Record<string, string[]> = {
      registerDevice: ["getDevice", "listWalletDevices"],
      registerAgent: ["getDevicePolicy"],
      fundEscrow: ["checkPayment"],
      authorize: ["getPendingPayments"],
    };
    for (const [kind, body] of Object.entries(examples.bodies("prepareTransaction"))) {
      const { body: { hash } } = await write(on, examples, body);
      await examples.send("getTransaction", { hash });
      for (const one of reads[kind] ?? []) await examples.send(one);
    }

    await until(async () => (await api.request("GET", "/v1/events")).body.events.length === 9);
    const { body: { events } } = await examples.send("listEvents");
    await examples.send("getEvent", { id: events[0].id });
    const { body: { payments: [payment] } } = await until(async () => {
      const page = await examples.send("listPayments", { state: "claimed" });
      return page.body.payments.length > 0 && page;
    });
    await examples.send("getPayment", { id: payment.id });
    const { body: { transactions } } = await examples.send("listTransactions");
    assert.deepEqual(transactions.map(({ hash }: { hash: string }) => hash), [payment.txHash]);
    await api.gateway.tidy(30_000);
    await examples.send("getReconciliation");
    await examples.send("listWebhookDeliveries", { id });
    await examples.send("getWebhookDelivery", { id, attempt: "1" });
    await examples.send("replayWebhook", { id });
    await examples.send("rotateWebhookSecret", { id });
    await examples.send("deleteWebhook", { id });

    // A stream has no end, so its body is not read.
    const authorization = `Bearer ${api.apiKey}`;
    const request = new Request(`http://gateway.test${examples.url("streamEvents")}`, { headers: { authorization } });
    const stream = await api.gateway.fetch(request, { remoteAddress: "198.51.100.7" });
    assert.equal(stream.status, 200);
    await stream.body!.cancel();
    examples.sent.add("streamEvents");
    assert.deepEqual(examples.operationIds.filter((one) => !examples.sent.has(one)), []);
  } finally {
    await api.stop();
    await receiver.stop();
    await on.network.stop();
  }
});
