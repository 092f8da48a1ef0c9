// needs: runtime
import assert from "node:assert/strict";
import { after, afterEach, describe, test } from "node:test";
import { createPostParts, post, vetting } from "./post_parts.ts";
import type { Receiver } from "../receiver.ts";
import { createTestCertificates } from "./test_certificates.ts";

const parts = createPostParts();
const { receiver, poster } = parts;
afterEach(parts.close);

const certificates = createTestCertificates();
after(() => certificates?.remove());

describe("a post over TLS", () => {
  if (certificates === undefined) return void test("needs openssl, which is not on this machine", { skip: true });
  const { ca, issue } = certificates;
  const secure = vetting("127.0.0.1");

  async function secureReceiver(names: string, options = {}): Promise<Receiver> {
    return await receiver(undefined, { tls: issue(names, options) });
  }

  test("sends the host's name and accepts its certificate", async () => {
    const endpoint = await secureReceiver("DNS:hooks.example");
    const by = poster(secure, { ca });
    for (let i = 0; i < 3; i++) {
      const result = await post(by, `https://hooks.example:${endpoint.port}/in`);
      assert.deepEqual([result.statusCode, result.address], [200, "127.0.0.1"]);
    }
    assert.equal(endpoint.connections, 1);
    assert.equal(endpoint.requests[0]!.serverName, "hooks.example");
    assert.match(endpoint.requests[0]!.head, new RegExp(`^Host: hooks\\.example:${endpoint.port}\\r$`, "m"));
  });

  test("accepts a certificate for an IP address when the host is this address", async () => {
    const endpoint = await secureReceiver("IP:127.0.0.1");
    assert.equal((await post(poster(secure, { ca }), `https://127.0.0.1:${endpoint.port}/`)).statusCode, 200);
    assert.equal(endpoint.requests[0]!.serverName, undefined);
  });

  const refused: [what: string, names: string, error: string, options?: object][] = [
    ["for another name", "DNS:other.example", "certificate is for another name"],
    ["for a subdomain", "DNS:*.hooks.example", "certificate is for another name"],
    ["for the address instead of the name", "IP:127.0.0.1", "certificate is for another name"],
    ["that has expired", "DNS:hooks.example", "certificate has expired", { expired: true }],
  ];
  for (const [what, names, error, options] of refused) {
    test(`refuses a certificate ${what}, and sends nothing`, async () => {
      const endpoint = await secureReceiver(names, options);
      const result = await post(poster(secure, { ca }), `https://hooks.example:${endpoint.port}/`);
      assert.deepEqual([result.statusCode, result.error], [undefined, error]);
      assert.equal(endpoint.requests.length, 0);
    });
  }

  test("refuses a certificate of an unknown authority, and sends nothing", async () => {
    const endpoint = await secureReceiver("DNS:hooks.example");
    const result = await post(poster(secure), `https://hooks.example:${endpoint.port}/`);
    assert.equal(result.error, "certificate is from no trusted authority");
    assert.equal(endpoint.requests.length, 0);
  });

  test("reports a receiver that does not speak TLS, or does not finish the handshake", async () => {
    const plain = await receiver((_, socket) => void socket.end("HTTP/1.1 400 Bad\r\n\r\n"));
    const by = poster(secure, { ca });
    plain.open.forEach((socket) => socket.end());
    const result = await post(by, `https://hooks.example:${plain.port}/`, { timeoutMs: 300 });
    assert.equal(result.error, "timed out after 0.3 s");
    const mail = await receiver();
    const speaking = setInterval(() => mail.open.forEach((socket) => socket.write("220 mail.example ESMTP\r\n")), 5);
    const failed = await post(by, `https://hooks.example:${mail.port}/`);
    clearInterval(speaking);
    assert.equal(failed.error, "TLS handshake failed");
  });
});
