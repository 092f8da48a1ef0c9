// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { sandboxBanner } from "../../../cli/sandbox/banner.ts";

test("the sentences of the welcome fit a terminal of 80 columns", () => {
  const [address, contract] = ["G".repeat(56), "C".repeat(56)];
  const account = { address, secret: "S".repeat(56) };
  const text = sandboxBanner({
    gateway: "http://127.0.0.1:65535",
    rpc: "http://127.0.0.1:65534",
    friendbot: "http://127.0.0.1:65534/friendbot",
    store: "sqlite:/tmp/gateway-sandbox-aaaaaa/gateway.db",
    networkPassphrase: "Standalone Sandbox Network ; 2026",
    apiKey: `service_sk_${"a".repeat(40)}`,
    contracts: { deviceRegistry: contract, agentRegistry: contract, paymentEscrow: contract },
    asset: contract,
    accounts: { owner: account, agent: account, merchant: account },
  }, "npm run -s gateway --");
  // A command to copy is one line of any length.
  for (const line of text.split("\n").filter((line) => !line.startsWith("  export"))) {
    assert.ok([...line].length <= 80, line);
  }
});
