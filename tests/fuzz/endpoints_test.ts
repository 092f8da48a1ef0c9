// needs: neutral
import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "node:test";
import { openApiDocument } from "../../lib/http/openapi.ts";
import { NOUNS } from "../../lib/http/routes/routes.ts";
import { startGateway, startTestNetwork } from "../http/test_gateway.ts";
import { assertSound } from "./answers.ts";
import { type OpenApi, requestsOf } from "./grammar.ts";
import { count, inputCount, report, seed, timeoutMs } from "./inputs.ts";

test(
  "every endpoint of the OpenAPI description answers any request with a sound answer",
  { timeout: timeoutMs },
  async () => {
    const on = await startTestNetwork();
    const api = await startGateway(on, {
      targets: { resolve: () => Promise.resolve(["127.0.0.1"]), allowLoopbackHttp: true },
    });
    const { owner, agent, merchant } = on.sandbox.accounts;
    const deviceHash = "5a".repeat(32);
    const { asset } = on.sandbox;
    const xdr = await api.signedEnvelope(owner, { kind: "registerDevice", deviceHash, agent: agent.address });
    const { body: { hash } } = await api.submit(xdr);
    await api.write(owner, { kind: "registerAgent", deviceHash, agent: agent.address, asset, maxAmount: "50000" });
    await api.write(owner, { kind: "fundEscrow", deviceHash, asset, amount: "100000" });
    const hook = await api.request("POST", "/v1/webhooks", { body: { url: "http://127.0.0.1:9/in" } });
    const accounts = [owner.address, agent.address, merchant.address];
    const samples = {
      hash: [deviceHash, hash],
      deviceHash: [deviceHash, deviceHash.toUpperCase()],
      txHash: [hash],
      address: accounts,
      source: accounts,
      agent: accounts,
      merchant: accounts,
      asset: [asset, asset, on.sandbox.contracts.paymentEscrow],
      amount: ["1", "100", "100001"],
      maxAmount: ["0", "1"],
      xdr: [xdr, xdr.slice(0, -8)],
      url: [
        "http://127.0.0.1:9/in",
        "https://localhost/",
        "https://user@a/",
        "https://[::1]:0/",
        "http:127.0.0.1:1",
        "ftp://a",
      ],
      id: [hook.body.id, "wh_none"],
      fromLedger: ["1", 1, 5],
      toLedger: ["9", 9],
      limit: ["1", "1000"],
      types: ["device.registered", ["device.registered"]],
      cursor: ["1"],
    };
    const statuses = new Map<string, number>();
    const requests = requestsOf(openApiDocument(NOUNS, "test") as unknown as OpenApi, samples);
    const numRuns = inputCount(400);
    const asked = new Set<string>();
    await fc.assert(
      fc.asyncProperty(requests, async ({ operation, method, path, body, headers }) => {
        asked.add(operation);
        const request = sendable(path, method, { authorization: `Bearer ${api.apiKey}`, ...headers }, body);
        if (request === undefined) return;
        const response = await api.gateway.fetch(request, { remoteAddress: "198.51.100.7" });
        const answer = { status: response.status, headers: response.headers, text: await textOf(response) };
        count(statuses, `${response.status}`);
        assertSound(answer, `${method} ${path} ${body?.slice(0, 500) ?? ""} ${JSON.stringify(headers)}`);
      }),
      { numRuns, seed },
    );
    report("endpoints", numRuns, statuses);
    assert.equal(asked.size, Object.values(openApiDocument(NOUNS, "test").paths as object).flatMap(Object.keys).length);
    assert.ok((statuses.get("200") ?? 0) > numRuns / 10, "hardly anything was answered well");
    assert.doesNotMatch(api.log(), /"level":"error"/);
    await api.stop();
    await on.network.stop();
  },
);

/** Undefined for a request that this runtime's own client refuses to send. */
function sendable(path: string, method: string, headers: Record<string, string>, body?: string): Request | undefined {
  try {
    return new Request(`http://gateway.test${path}`, { method, headers, body });
  } catch {
    return undefined;
  }
}

/** The body, or an empty text for a stream, because a stream does not end. */
async function textOf(response: Response): Promise<string> {
  if (response.headers.get("content-type") !== "text/event-stream") return await response.text();
  await response.body?.cancel();
  return "";
}
