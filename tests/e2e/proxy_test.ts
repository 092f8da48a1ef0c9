// needs: runtime
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { runGateway, type SandboxProcess, sourceCommand, startSandbox } from "./sandbox_process.ts";
import { startCommand } from "./running_command.ts";

describe("behind a company's proxy that cannot reach this machine", () => {
  /** The URLs of the requests to the proxy. It refuses all of them. */
  const asked: string[] = [];
  const proxy = createServer((request, response) => {
    asked.push(request.url!);
    response.writeHead(403).end();
  });
  proxy.on("connect", (request, socket) => {
    asked.push(request.url!);
    socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
  });
  let env: Record<string, string>;
  let sandbox: SandboxProcess;
  before(async () => {
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    // An operator has set the name in NO_PROXY.
    env = {
      HTTP_PROXY: url,
      HTTPS_PROXY: url,
      http_proxy: url,
      https_proxy: url,
      NO_PROXY: "intranet.example",
      no_proxy: "",
      // Once a day Deno checks for a newer version through the proxy.
      DENO_NO_UPDATE_CHECK: "1",
    };
    sandbox = await startSandbox(sourceCommand(), [], env);
  });
  after(async () => {
    await sandbox?.stop();
    proxy.close();
  });

  test(
    "sandbox, listen, trigger, tail and doctor reach this machine without the proxy",
    { timeout: 120_000 },
    async () => {
      const { rpc, gateway } = sandbox.info;
      const localhost = rpc.replace("127.0.0.1", "localhost");
      const listen = startCommand(["listen", "--sandbox", rpc], { env });
      await listen.out(/Listening/);
      for (
        const args of [
          ["trigger", "device.registered", "--sandbox", rpc],
          ["sandbox", "fund", sandbox.info.accounts.owner.address, "--sandbox", localhost],
          ["sandbox", "env", "--sandbox", rpc],
          ["tail", "--once", "--sandbox", gateway],
        ]
      ) {
        const { code, stderr } = await runGateway(args, env);
        assert.equal(code, 0, `${args.join(" ")}: ${stderr}`);
      }
      await listen.out(/device\.registered/);
      await listen.stop();
      assert.deepEqual(asked, []);
    },
  );

  test(
    "the doctor names the proxy's environment variable when the proxy refuses a request",
    { timeout: 240_000 },
    async () => {
      const args = ["doctor", "--rpc-url", "http://node.example:8000", "--store", "memory:"];
      const { code, stdout, stderr } = await runGateway(args, env);
      assert.equal(code, 1, stderr);
      assert.match(stdout, /http:\/\/node\.example:8000 answered HTTP 403 through the proxy of http_proxy/);
      assert.match(asked.join(), /node\.example:8000/);
    },
  );
});
