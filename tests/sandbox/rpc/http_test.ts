// needs: runtime
import { strict as assert } from "node:assert";
import { describe, test } from "node:test";
import { openSandboxRpc, sandboxRpcOfFile } from "./sandbox_rpc.ts";

const sandbox = sandboxRpcOfFile();

describe("the RPC server", () => {
  const post = (body: string, headers: Record<string, string> = { "Content-Type": "application/json" }) =>
    fetch(sandbox.url, { method: "POST", body, headers });
  const request = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "getNetwork" });

  test("returns 405 for other methods than POST, and 415 for other content types", async () => {
    for (const method of ["GET", "PUT", "DELETE"]) {
      const response = await fetch(`${sandbox.url}/x`, { method });
      assert.equal(response.status, 405);
      assert.equal(response.headers.get("Accept-Post"), "application/json");
      assert.match(await response.text(), /not Horizon/);
    }
    const wrong = await post(request, { "Content-Type": "text/plain" });
    assert.equal(wrong.status, 415);
    assert.equal(await wrong.text(), "content-type must be application/json\n");
    const charset = await post(request, { "Content-Type": "application/json; charset=latin1" });
    assert.equal(charset.status, 415);
    await charset.body?.cancel();
    const utf8 = await post(request, { "Content-Type": 'Application/JSON; charset="UTF-8"' });
    assert.equal(utf8.status, 200);
    await utf8.body?.cancel();
  });

  test("reads a body of 512 KiB, and returns 413 for a larger one", async () => {
    const large = await post(request + " ".repeat(512 * 1024 - request.length + 1));
    assert.equal(large.status, 413);
    assert.equal((await large.json()).error.code, -32600);
    const full = await post(request + " ".repeat(512 * 1024 - request.length));
    assert.equal((await full.json()).result.passphrase, sandbox.network.passphrase);
  });

  test("returns 413 for a chunked body above 512 KiB", async () => {
    const chunk = new Uint8Array(64 * 1024).fill(32);
    let left = 9;
    const body = new ReadableStream({
      pull(controller) {
        if (left-- > 0) controller.enqueue(chunk);
        else controller.close();
      },
    });
    const init = { method: "POST", body, duplex: "half", headers: { "Content-Type": "application/json" } };
    const response = await fetch(sandbox.url, init as RequestInit);
    assert.equal(response.status, 413);
    await response.body?.cancel();
  });

  test("returns 500 in plain text for a body that is not JSON, and 204 for notifications and empty batches", async () => {
    const refused = await post("{");
    assert.equal(refused.status, 500);
    assert.equal(await refused.text(), "[-32700] invalid request value\n");
    assert.equal(refused.headers.get("Access-Control-Allow-Origin"), "*");
    assert.equal((await post("[]")).status, 204);
    assert.equal((await post('{"jsonrpc":"2.0","method":"getHealth"}')).status, 204);
  });

  test("answers a batch at any path", async () => {
    const response = await fetch(`${sandbox.url}/any/path`, {
      method: "POST",
      body: `[${request},${request.replace("getNetwork", "getNothing")}]`,
      headers: { "Content-Type": "application/json" },
    });
    const codes = (await response.json()).map((each: { error?: { code: number } }) => each.error?.code);
    assert.deepEqual(codes, [undefined, -32601]);
  });

  test("allows every origin", async () => {
    const response = await post(request);
    assert.equal(response.headers.get("Access-Control-Allow-Origin"), "*");
    await response.body?.cancel();
    const preflight = await fetch(sandbox.url, {
      method: "OPTIONS",
      headers: { "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,x-client" },
    });
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers.get("Access-Control-Allow-Origin"), "*");
    assert.match(preflight.headers.get("Access-Control-Allow-Methods")!, /POST/);
    assert.equal(preflight.headers.get("Access-Control-Allow-Headers"), "content-type,x-client");
  });

  test("allows only the configured origins if there are any", async () => {
    const named = await openSandboxRpc({}, { corsOrigins: ["https://app.example", "http://localhost:3000"] });
    const allowed = async (init: RequestInit & { headers: Record<string, string> }, path = "") => {
      const response = await fetch(named.url + path, init);
      await response.body?.cancel();
      return [response.headers.get("Access-Control-Allow-Origin"), response.headers.get("Vary")];
    };
    for (const origin of ["https://app.example", "http://localhost:3000"]) {
      const headers = { "Origin": origin, "Content-Type": "application/json" };
      assert.deepEqual(await allowed({ method: "POST", body: request, headers }), [origin, "Origin"]);
      assert.deepEqual(await allowed({ method: "OPTIONS", headers: { Origin: origin } }), [origin, "Origin"]);
      assert.deepEqual(await allowed({ headers: { Origin: origin } }, "/friendbot?addr=x"), [origin, "Origin"]);
    }
    const stranger = { "Origin": "https://evil.example", "Content-Type": "application/json" };
    assert.deepEqual(await allowed({ method: "POST", body: request, headers: stranger }), [null, "Origin"]);
    assert.deepEqual(await allowed({ method: "OPTIONS", headers: stranger }), [null, "Origin"]);
    await named.stop();
  });
});
