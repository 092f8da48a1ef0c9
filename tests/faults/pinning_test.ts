// needs: once
import { describe, test } from "node:test";
import { sourceCommand } from "../e2e/sandbox_process.ts";
import { assertPinned, ownNetwork } from "./pinning.ts";

describe("on a public network, the gateway", () => {
  if (ownNetwork === undefined) {
    return void test("needs a network namespace, which this machine does not allow", { skip: true });
  }
  test("posts to no endpoint whose address or certificate differs from the checked one", async () => {
    await assertPinned(sourceCommand());
  });
});
