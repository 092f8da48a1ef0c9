// needs: runtime
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { PostResult } from "../../lib/webhooks/post/post.ts";
import { runOwnProcess } from "./own_process.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import { createTestCertificates } from "./post/test_certificates.ts";

/*
 * The runtimes read these variables when they start, so each case is a process of its own.
 */
describe("with proxy and TLS variables in the environment", () => {
  const certificates = createTestCertificates();
  let [plain, secure, proxy]: Receiver[] = [];
  before(async () => {
    plain = await startReceiver();
    secure = await startReceiver(undefined, { tls: certificates?.issue("DNS:hooks.example") });
    proxy = await startReceiver();
  });
  after(async () => {
    await Promise.all([plain!.close(), secure!.close(), proxy!.close()]);
    certificates?.remove();
  });

  async function results(env: Record<string, string>): Promise<PostResult[]> {
    return await runOwnProcess("environment_process.ts", { args: [`${plain!.port}`, `${secure!.port}`], env });
  }

  test("a post uses no proxy", async () => {
    const url = `http://127.0.0.1:${proxy!.port}`;
    // Deno itself looks for a newer version once a day, through the proxy.
    const env: Record<string, string> = {
      NODE_USE_ENV_PROXY: "1",
      NO_PROXY: "",
      no_proxy: "",
      DENO_NO_UPDATE_CHECK: "1",
    };
    for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]) env[name] = env[name.toLowerCase()] = url;
    const [first] = await results(env);
    assert.deepEqual([first!.statusCode, first!.error], [200, undefined]);
    assert.deepEqual([proxy!.connections, plain!.requests.length], [0, 1]);
    assert.match(plain!.requests[0]!.head, /^POST \/ HTTP\/1\.1\r\nHost: hooks\.example:/);
  });

  test("a post still verifies certificates", { skip: certificates === undefined }, async () => {
    const [, second] = await results({ NODE_TLS_REJECT_UNAUTHORIZED: "0" });
    assert.equal(second!.error, "certificate is from no trusted authority");
    assert.equal(secure!.requests.length, 0);
  });
});
