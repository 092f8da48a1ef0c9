// needs: runtime
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { before, describe, test } from "node:test";
import { runOwnProcess } from "./own_process.ts";
import type { Scene } from "./public_network_process.ts";

const isAllowed = (command: string, ...args: string[]) => {
  try {
    execFileSync(command, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};

/** How to get a network namespace of one's own; undefined where the machine forbids it, or has no `ip` or `openssl`. */
const wrapper = isAllowed("openssl", "version")
  ? [["unshare", "--net"], ["unshare", "--map-root-user", "--net"]].find(([command, ...args]) =>
    isAllowed(command!, ...args, "ip", "link", "set", "lo", "up")
  )
  : undefined;

describe("on a public network, a target", () => {
  if (wrapper === undefined) {
    return void test("needs a network namespace, which this machine forbids", { skip: true });
  }
  let scenes: Record<string, Scene>;
  before(async () => {
    scenes = await runOwnProcess("public_network_process.ts", { wrapper });
  });

  test("is resolved at each attempt, and gets its name in the TLS handshake", () => {
    const { results, asked, publicRequests, serverNames } = scenes.steady!;
    assert.deepEqual(results.map(({ statusCode, address }) => [statusCode, address]), [
      [302, "93.184.216.34"],
      [200, "93.184.216.34"],
      [200, "93.184.216.34"],
    ]);
    assert.deepEqual([asked.length, publicRequests, serverNames], [6, 3, ["hooks.example"]]);
  });

  test("that redirects to a private address makes the gateway connect to no private address", () => {
    assert.equal(scenes.steady!.results[0]!.statusCode, 302);
    assert.equal(scenes.steady!.privateConnections, 0);
  });

  test("that turns from public to private between two attempts gets no further connection", () => {
    const { results, publicRequests, privateConnections } = scenes.turnsLoopback!;
    const refusal = "url host must be public: hooks.example resolves to a loopback address";
    assert.deepEqual(results.slice(1).map(({ error, address }) => [error, address]), [
      [refusal, undefined],
      [refusal, undefined],
    ]);
    assert.deepEqual([publicRequests, privateConnections], [1, 0]);
    assert.match(scenes.turnsPrivate!.results[1]!.error!, /resolves to a private address/);
    assert.equal(scenes.turnsPrivate!.privateConnections, 0);
  });

  test("with one private address among its addresses gets no connection at all", () => {
    for (const [name, reason] of [["oneOfTwo", /private/], ["ipv6Loopback", /loopback/]] as const) {
      const { results, publicRequests, privateConnections } = scenes[name]!;
      assert.match(results[0]!.error!, reason);
      assert.deepEqual([publicRequests, privateConnections], [0, 0]);
    }
  });

  test("with a cached DNS answer gets connections only at the checked address", () => {
    const { results, asked, publicRequests, privateConnections } = scenes.kept!;
    assert.deepEqual(results.map(({ statusCode }) => statusCode), [302, 200, undefined, undefined]);
    assert.deepEqual([publicRequests, privateConnections], [2, 0]);
    assert.equal(asked.filter((question) => question.startsWith("A ")).length, 2);
  });

  test("may have IPv6 addresses only", (context) => {
    if (scenes.ipv6 === undefined) return context.skip("no IPv6 in this network namespace");
    assert.deepEqual(
      scenes.ipv6.results.map(({ address, error }) => address ?? error),
      Array(2).fill("2606:4700::1111"),
    );
    assert.deepEqual([scenes.ipv6.publicRequests, scenes.ipv6.privateConnections], [2, 0]);
  });
});
