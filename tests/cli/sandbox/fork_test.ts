// needs: once
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { rpc } from "@stellar/stellar-sdk";
import { serveHttp } from "../../../lib/runtime/serve.ts";
import { runHere } from "../../e2e/here.ts";
import type { SandboxProcess } from "../../e2e/sandbox_process.ts";
import { folderForTests } from "../../folder.ts";
import { failingSandboxHere, startReadySandboxHere, startSandboxHere } from "./sandbox_here.ts";

const folder = folderForTests();

test("gateway sandbox --fork runs on another network's accounts and contracts", { timeout: 120_000 }, async () => {
  const origin = await startReadySandboxHere();
  const { contracts, accounts, rpc: rpcUrl } = origin.info;
  const node = new rpc.Server(rpcUrl, { allowHttp: true });
  const triggered = async (at: string, ...event: string[]) => {
    const { code, stdout, stderr } = await runHere(["trigger", ...event, "--sandbox", at], {});
    assert.equal(code, 0, stderr);
    return stdout.trimEnd().split("\n").length;
  };
  await triggered(rpcUrl, "device.registered");

  const own = await startSandboxHere(["--fork", rpcUrl]);
  assert.equal(own.info.networkPassphrase, origin.info.networkPassphrase);
  assert.notDeepEqual(own.info.contracts, contracts);
  assert.equal(await triggered(own.info.rpc, "payment.authorized"), 5);
  const theirs = await new rpc.Server(own.info.rpc, { allowHttp: true }).getAccountEntry(accounts.owner.address);
  assert.equal(theirs.balance, (await node.getAccountEntry(accounts.owner.address)).balance);
  assert.deepEqual([await own.stop(), own.log()], [0, ""]);

  const before = (await node.getAccountEntry(accounts.owner.address)).seqNum;
  const flags = [
    ...["--device-registry", contracts.deviceRegistry],
    ...["--agent-registry", contracts.agentRegistry],
    ...["--payment-escrow", contracts.paymentEscrow],
  ];
  const shared = await startSandboxHere(["--fork", rpcUrl, ...flags]);
  assert.deepEqual(shared.info.contracts, contracts);
  assert.equal(await triggered(shared.info.rpc), 10);
  assert.deepEqual([await shared.stop(), shared.log()], [0, ""]);
  assert.equal((await node.getAccountEntry(accounts.owner.address)).seqNum, before, "nothing was sent there");
  await origin.stop();
});

test("an impossible fork is refused with its cause, and without its URL", async () => {
  const id = `C${"A".repeat(55)}`;
  const node = "http://127.0.0.1:1";
  const wrong: [string[], number, RegExp][] = [
    [
      ["--fork", "ftp://token@example.com"],
      2,
      /--fork must be the https:\/\/ or http:\/\/ URL of a Stellar RPC node\n/,
    ],
    [["--fork", `${node}/TOKEN`], 1, /the network at http:\/\/127\.0\.0\.1:1 cannot be read: it does not answer\n/],
    [["--fork", node, "--state", "x"], 2, /--fork and --state exclude each other: a fork is not stored/],
    [["--fork", node, "--network-passphrase", "x"], 2, /--fork and --network-passphrase exclude each other/],
    [["--device-registry", id], 2, /--device-registry needs --fork/],
    [["--fork", node, "--agent-registry", id], 2, /needs --device-registry and --payment-escrow/],
  ];
  for (const [flags, code, message] of wrong) {
    const failed = await failingSandboxHere(flags);
    assert.equal(failed.code, code, failed.stderr);
    assert.match(failed.stderr, message);
    assert.doesNotMatch(failed.stderr, /token/i);
  }
});

/** A node of a network with another protocol, and otherwise as the one at the URL. */
function otherProtocol(url: string, protocolVersion: number) {
  return serveHttp({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeoutMs: 60_000,
    async fetch(request) {
      const headers = { "Content-Type": "application/json" };
      const answer = await (await fetch(url, { method: "POST", body: await request.text(), headers })).json();
      if (answer.result?.protocolVersion) answer.result.protocolVersion = protocolVersion;
      return Response.json(answer);
    },
  });
}

/** Makes a payment there, where the protocol is this one. */
async function pays({ info }: SandboxProcess, protocol: number): Promise<void> {
  const { protocolVersion } = await new rpc.Server(info.rpc, { allowHttp: true }).getNetwork();
  assert.equal(Number(protocolVersion), protocol);
  const { code, stderr } = await runHere(["trigger", "payment.authorized", "--sandbox", info.rpc], {});
  assert.equal(code, 0, stderr);
}

test("--protocol forks a network whose host is missing, and the error without it names the flag", async () => {
  const origin = await startReadySandboxHere();
  for (const [theirs, nearest, when] of [[26, 27, "after"], [29, 28, "before"]] as const) {
    const node = await otherProtocol(origin.info.rpc, theirs);
    const refused = await failingSandboxHere(["--fork", node.url]);
    assert.equal(refused.code, 1);
    const words = `has protocol ${theirs}, .* 27 and 28 only: add --protocol ${nearest} .* as ${when} its`;
    assert.match(refused.stderr.replace(/\s+/g, " "), new RegExp(words));
    const fork = await startSandboxHere(["--fork", node.url, "--protocol", `${nearest}`]);
    await pays(fork, nearest);
    await fork.stop();
    assert.match(fork.log(), new RegExp(`another protocol than the other network has.*${theirs}`));
    await node.stop({ drainMs: 100 });
  }
  await origin.stop();
});

test("a fork has the protocol of its network unless --protocol upgrades it, and a stored ledger keeps its own", async () => {
  const state = join(folder, "protocol-27");
  const first = await startSandboxHere(["--protocol", "27", "--state", state]);
  for (const [flags, protocol] of [[[], 27], [["--protocol", "28"], 28]] as const) {
    const fork = await startSandboxHere(["--fork", first.info.rpc, ...flags]);
    await pays(fork, protocol);
    await fork.stop();
  }
  await first.stop();
  const again = await startSandboxHere(["--state", state]);
  await pays(again, 27);
  await again.stop();
  const other = await failingSandboxHere(["--state", state, "--protocol", "28"]);
  assert.match(other.stderr, /--protocol must be 27 for the ledger in .*protocol-27; got 28/);
});
