// needs: once
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { UsageError } from "../../../cli/command.ts";
import { command } from "../../../cli/doctor/doctor.ts";
import type { Finding } from "../../../cli/doctor/findings.ts";
import { systemClock } from "../../../lib/clock.ts";
import { type HttpServer, serveHttp } from "../../../lib/runtime/serve.ts";
import { sampleKey } from "../../store/samples.ts";
import { fakeIo } from "../fake_io.ts";
import { doctorOfFile, NODE, quickWait } from "./stage.ts";

const doctor = doctorOfFile();

const notWell = (findings: Finding[]) => findings.filter(({ verdict }) => verdict !== "ok" && verdict !== "skip");

describe("doctor: all of it", () => {
  test("a well configured gateway has no findings but the open contracts", async () => {
    const store = await doctor.storeWith(async (store) => {
      await store.network.bind(doctor.sandbox.network.passphrase);
      await store.keys.insert(sampleKey("a"));
    });
    const waitedMs: number[] = [];
    const clock = {
      now: doctor.sandbox.nowMs,
      monotonicMs: systemClock.monotonicMs,
      wait: (delayMs: number, signal?: AbortSignal) => {
        // A deadline of a call is called off when that has ended.
        if (signal === undefined) waitedMs.push(delayMs);
        return quickWait(delayMs, signal);
      },
    };
    const findings = await doctor.examined({ store }, { clock });
    assert.deepEqual(waitedMs, [], "nobody waits for what is well");
    assert.deepEqual(notWell(findings).map(({ check, verdict }) => [check, verdict]), [
      ["card owners", "warn"],
      ["assets", "warn"],
    ]);
    assert.deepEqual(findings.map(({ check }) => check), [
      "store",
      "api keys",
      "webhook secrets",
      "port",
      "rpc node",
      "clock and ledger",
      "history",
      "device registry",
      "agent registry",
      "payment escrow",
      "escrow's registries",
      "reads",
      "card owners",
      "assets",
      "asset issuers",
      "movements",
      "escrow's money",
      "expired payments",
      "books",
    ]);
  });
});

describe("gateway doctor", () => {
  let rpc: HttpServer;
  let args: string[];
  before(async () => {
    rpc = await serveHttp({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeoutMs: 1_000,
      fetch: async (request) =>
        await doctor.sandbox.fetch(NODE, { method: "POST", headers: request.headers, body: await request.text() }),
    });
    const { deviceRegistry, agentRegistry, paymentEscrow } = doctor.sandbox.contracts;
    const flags = {
      "rpc-url": rpc.url,
      "network-passphrase": doctor.sandbox.network.passphrase,
      "device-registry": deviceRegistry,
      "agent-registry": agentRegistry,
      "payment-escrow": paymentEscrow,
      "port": "0",
      "store": `sqlite:${doctor.newPath()}`,
    };
    args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]);
  });
  after(() => rpc.stop({ drainMs: 0 }));

  const run = async (args: string[], env: Record<string, string> = {}, columns?: number) => {
    const io = fakeIo({ env, now: doctor.sandbox.nowMs(), isTerminal: columns !== undefined, columns });
    return { code: await command.run(args, io), out: io.out, err: io.err };
  };

  test("prints a line for each check with advice under it, and a summary, and a warning is no failure", async () => {
    const { code, out } = await run(args, { SERVICE_API_PROT: "1" });
    assert.equal(code, 0, out);
    assert.match(out, /^warn {2}settings +SERVICE_API_PROT is no setting\n +→ see gateway help serve/);
    assert.match(out, /^warn {2}api keys .*\n +→ create one: gateway keygen/m);
    assert.match(out, /^ok {4}payment escrow +C[A-Z2-7]{55} has the expected interface \(code [0-9a-f]{12}…\)$/m);
    assert.match(out, /\n\n\d+ ok, 4 warnings, 6 skipped\n$/);
  });

  test("prints the same on a narrow terminal, without breaking words", async () => {
    const flags = [...args, "--target", "http://127.0.0.1/hook"];
    const words = (text: string) => text.split(/\s+/).filter((word) => !/^\d+$/.test(word));
    const { out: whole } = await run(flags);
    for (const columns of [80, 100]) {
      const { code, out } = await run(flags, {}, columns);
      assert.equal(code, 1);
      assert.deepEqual(words(out), words(whole));
      for (const line of out.split("\n")) {
        // A path or a URL is as long as it is.
        assert.ok([...line].length <= columns || !line.trim().includes(" "), line);
        assert.match(line, /^(?:$|(?:ok|warn|fail|skip) +\S| {16,}\S|\d+ ok, )/);
      }
    }
  });

  test("exits with 1 after a failed check, and prints one line of JSON with --json", async () => {
    const { code, out } = await run([...args, "--json", "--target", "http://127.0.0.1/hook"]);
    assert.equal(code, 1);
    assert.equal(out.split("\n").length, 2);
    const { ok, checks } = JSON.parse(out);
    assert.equal(ok, false);
    assert.deepEqual(checks.filter(({ verdict }: Finding) => verdict === "fail").map(({ check }: Finding) => check), [
      "webhook target",
    ]);
    assert.deepEqual(Object.keys(checks.at(-1)), ["check", "verdict", "found", "todo"]);
  });

  test("a wrong setting is a finding like any other, a wrong flag is not", async () => {
    const { code, out } = await run([], { SERVICE_API_POLL_MS: "soon" });
    assert.equal(code, 1);
    assert.match(out, /^fail {2}settings +SERVICE_API_POLL_MS must be an integer .*; got "soon"\n +→ correct it/);
    await assert.rejects(run(["--prot", "1"]), UsageError);
    await assert.rejects(run(["--target", "foo"], { SERVICE_API_POLL_MS: "soon" }), UsageError);
  });

  test("refuses a password on the command line, as serve does, without showing it", async () => {
    const calling = run(["--store", "postgres://gateway:hush@127.0.0.1:1/gateway"]);
    await assert.rejects(calling, (error) => {
      return error instanceof UsageError && /^--store must not hold a password.*PGPASSWORD/.test(error.message) &&
        !error.message.includes("hush");
    });
  });
});
