// needs: once
import { describe, test } from "node:test";
import { sourceCommand } from "../e2e/sandbox_process.ts";
import { assertPinned, ownNetwork } from "./pinning.ts";

describe("on a public network, the gateway", () => {
  if (ownNetwork === undefined) {
    return void test("needs a network namespace, which this machine forbids", { skip: true });
  }
  test("connects to nobody whose address or certificate is not what it was vetted for", async () => {
    await assertPinned(sourceCommand());
  });
});
