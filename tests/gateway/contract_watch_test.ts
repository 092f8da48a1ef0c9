// needs: neutral
import { Keypair, StrKey } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type GatewayUnderTest,
  METRICS_TOKEN,
  networkOfFile,
  type RpcFetch,
  startGateway,
  type UnderTestOptions,
} from "../http/test_gateway.ts";
import { deployExternalEscrow } from "../escrow/code_owner.ts";
import { contractCode } from "../sandbox/sandbox_network.ts";
import { until } from "../until.ts";
import { openStore } from "../../lib/store/open.ts";

const NOWHERE = StrKey.encodeContract(new Uint8Array(32).fill(7));
const HASH = "ab".repeat(32);
const NOT_AS_EXPECTED = "the contract is not as expected; gateway doctor reports details";

const on = networkOfFile();

interface Reported {
  level: string;
  message: string;
  setting?: string;
  problem?: string;
}

async function withGateway(
  options: UnderTestOptions,
  story: (api: GatewayUnderTest, reported: () => Reported[]) => Promise<void>,
): Promise<void> {
  const api = await startGateway(on, options);
  const reported = () =>
    api.log().trim().split("\n").map((line) => JSON.parse(line) as Reported)
      .filter(({ message }) => message.startsWith("the contract "));
  try {
    await story(api, reported);
  } finally {
    await api.stop();
  }
}

interface Shown {
  contract: string;
  id: string;
  problem: string | null;
  checkedAt: string | null;
}

const shown = async (api: GatewayUnderTest): Promise<Shown[]> =>
  (await api.request("GET", "/v1/status")).body.contracts;
const looked = (api: GatewayUnderTest) =>
  until(async () => {
    const contracts = await shown(api);
    return contracts.every(({ checkedAt }) => checkedAt !== null) && contracts;
  });
const warnings = (reported: Reported[]) =>
  reported.map(({ level, message, setting, problem }) => {
    assert.deepEqual([level, message], ["warn", NOT_AS_EXPECTED]);
    return [setting!.split(" ")[0], problem];
  });

/** The node, with its ledger entries changed in the response. */
const changed = (change: (entry: { xdr: string }) => { xdr: string }): RpcFetch => async (url, init) => {
  const answer = await (await on.fetch(url, init)).json();
  if (JSON.parse(String(init.body)).method === "getLedgerEntries") {
    answer.result.entries = answer.result.entries.map(change);
  }
  return Response.json(answer);
};

describe("the contracts of the settings", () => {
  test("cause no warning when they are as expected, and the status shows that the gateway checked them", async () => {
    await withGateway({}, async (api, reported) => {
      const { deviceRegistry, agentRegistry, paymentEscrow } = on.sandbox.contracts;
      const contracts = await looked(api);
      assert.deepEqual(contracts.map(({ contract, id, problem }) => [contract, id, problem]), [
        ["device_registry", deviceRegistry, null],
        ["agent_registry", agentRegistry, null],
        ["payment_escrow", paymentEscrow, null],
      ]);
      assert.deepEqual(reported(), []);
    });
  });

  test("cause one warning with the setting's name when an id is not on the network", async () => {
    await withGateway({ settings: { paymentEscrow: NOWHERE } }, async (api, reported) => {
      const problem = `there is no contract ${NOWHERE} on this network`;
      assert.equal((await looked(api))[2]!.problem, problem);
      assert.deepEqual(warnings(reported()), [["SERVICE_API_PAYMENT_ESCROW", problem]]);
      assert.equal(reported()[0]!.setting, "SERVICE_API_PAYMENT_ESCROW (--payment-escrow)");
    });
  });

  test("cause one warning each when their ids belong to other contracts", async () => {
    const { agentRegistry } = on.sandbox.contracts;
    const settings = { deviceRegistry: on.sandbox.asset, paymentEscrow: agentRegistry };
    await withGateway({ settings }, async (api, reported) => {
      await looked(api);
      assert.deepEqual(warnings(reported()), [
        ["SERVICE_API_DEVICE_REGISTRY", `${on.sandbox.asset} is the contract of an asset, not the device registry`],
        ["SERVICE_API_PAYMENT_ESCROW", `${agentRegistry} is the agent registry, not the payment escrow`],
      ]);
    });
  });

  test("cause a warning when the escrow was initialised with another registry", async () => {
    const { agentRegistry, paymentEscrow } = on.sandbox.contracts;
    const bytes = (id: string) => String.fromCharCode(...StrKey.decodeContract(id));
    const fetch = changed((entry) => {
      const data = atob(entry.xdr);
      if (!data.includes(bytes(paymentEscrow)) || !data.includes("AgentRegistry")) return entry;
      return { ...entry, xdr: btoa(data.replace(bytes(agentRegistry), bytes(NOWHERE))) };
    });
    await withGateway({ fetch }, async (api, reported) => {
      await looked(api);
      const problem = `the payment escrow was initialised with another agent registry, ${NOWHERE}`;
      assert.deepEqual(warnings(reported()), [["SERVICE_API_AGENT_REGISTRY", problem]]);
    });
  });

  test("cause a warning when they differ from the store's contracts, with the setting and the contract no longer watched", async () => {
    const store = await openStore("memory:", { isShared: true });
    const { paymentEscrow } = on.sandbox.contracts;
    for (const escrow of [NOWHERE, paymentEscrow]) {
      await withGateway({ store: () => store, settings: { paymentEscrow: escrow } }, async (api) => {
        await api.gateway.turn(20_000);
        const reported = api.log().includes("the watched contracts have changed");
        assert.equal(reported, escrow !== NOWHERE);
        const setting = `SERVICE_API_PAYMENT_ESCROW (--payment-escrow) is ${paymentEscrow}`;
        const line =
          `the watched contracts have changed; ${setting}; ${NOWHERE} is no longer watched; the watcher reads`;
        if (reported) assert.ok(api.log().includes(line), api.log());
      });
    }
    await store.close();
  });

  test("do not delay the gateway: it answers before the first check and stops during the check", async () => {
    let asked = 0;
    const fetch: RpcFetch = (url, init) => {
      if (JSON.parse(String(init.body)).method !== "getLedgerEntries") return on.fetch(url, init);
      asked += 1;
      return new Promise((_, reject) => init.signal!.addEventListener("abort", () => reject(new TypeError("aborted"))));
    };
    await withGateway({ fetch }, async (api) => {
      await until(() => asked > 0);
      assert.deepEqual((await shown(api)).map(({ checkedAt, problem }) => checkedAt ?? problem), [null, null, null]);
      assert.equal(await api.gateway.stop(), true);
      assert.doesNotMatch(api.log(), /checking the contracts failed/);
    });
  });

  test("are checked when a failed node is back", async () => {
    let isAway = true;
    const fetch: RpcFetch = (url, init) =>
      isAway ? Promise.reject(new TypeError("connection refused")) : on.fetch(url, init);
    await withGateway({ fetch, settings: { paymentEscrow: NOWHERE } }, async (api, reported) => {
      await until(() => /checking the contracts failed/.test(api.log()));
      assert.deepEqual(reported(), []);
      isAway = false;
      assert.match((await looked(api))[2]!.problem!, /there is no contract/);
      assert.equal(reported().length, 1);
    });
  });

  test("are checked again when a contract runs other code, and the log reports when the contract is as expected again", async () => {
    let isUpgraded = false;
    let aheadMs = 0;
    const agentRegistryCode = () => {
      const { agentRegistry } = on.sandbox.contracts;
      return String.fromCharCode(...StrKey.decodeContract(agentRegistry));
    };
    const fetch: RpcFetch = (url, init) =>
      changed((entry) => {
        const data = atob(entry.xdr);
        if (!isUpgraded || !data.includes(agentRegistryCode()) || !data.includes("\0\0\0\x13")) return entry;
        const at = data.indexOf("\0\0\0\x13") + 8;
        return { ...entry, xdr: btoa(data.slice(0, at) + "x".repeat(32) + data.slice(at + 32)) };
      })(url, init);
    await withGateway({ fetch, now: () => Date.now() + aheadMs }, async (api, reported) => {
      const policy = () => api.request("GET", `/v1/devices/${HASH}/policy`);
      await looked(api);
      assert.equal((await policy()).status, 404);
      isUpgraded = true;
      on.network.closeLedger();
      const problems = () => shown(api).then((contracts) => contracts.map(({ problem }) => problem));
      await until(async () => (await policy(), (await problems())[1] !== null));
      const [upgraded, ...wrong] = reported();
      assert.deepEqual([upgraded!.level, upgraded!.message], ["warn", "the contract runs other code than before"]);
      assert.equal(warnings(wrong)[0]![0], "SERVICE_API_AGENT_REGISTRY");
      isUpgraded = false;
      aheadMs = 61_000;
      on.network.closeLedger();
      await until(async () => (await problems()).every((problem) => problem === null));
      const [, , , mended, ...more] = reported();
      assert.deepEqual([mended!.level, mended!.message], ["info", "the contract is as expected again"]);
      assert.match(mended!.setting!, /^SERVICE_API_AGENT_REGISTRY /);
      assert.deepEqual(more, []);
    });
  });

  test("cause one report of other code behind an external executable, in log, status and metrics, and one when the code returns", async () => {
    const deployer = Keypair.random();
    await on.network.fund(deployer.publicKey());
    const external = deployExternalEscrow(on.network, deployer, on.sandbox.contracts);
    let aheadMs = 0;
    const settings = { paymentEscrow: external.contracts.paymentEscrow, metricsToken: METRICS_TOKEN };
    await withGateway({ settings, now: () => Date.now() + aheadMs }, async (api, reported) => {
      const problem = async () => (await shown(api))[2]!.problem;
      const read = () => api.request("GET", `/v1/merchants/${on.sandbox.accounts.merchant.address}/pending`);
      const figure = async () => (await api.scrape()).get("gateway_contract_problems")!.samples[0]!.value;
      await looked(api);
      assert.deepEqual([(await read()).status, await problem(), await figure()], [200, null, 0]);
      external.choose(contractCode().agentRegistry);
      await until(async () => (await read(), await problem() !== null));
      assert.match((await problem())!, / is the agent registry, not the payment escrow$/);
      assert.equal(await figure(), 1);
      external.choose(contractCode().paymentEscrow);
      aheadMs = 61_000;
      await until(async () => (await read(), await problem() === null));
      const changed = "the contract runs other code than before";
      assert.deepEqual(reported().map(({ message }) => message), [
        changed,
        NOT_AS_EXPECTED,
        changed,
        "the contract is as expected again",
      ]);
      assert.ok(reported().every(({ setting }) => setting!.startsWith("SERVICE_API_PAYMENT_ESCROW ")));
    });
  });

  test("cause one warning each when the gateway cannot read the instance, and the status shows the problem", async () => {
    let aheadMs = 0;
    // No protocol defines this kind of executable yet.
    const fetch = changed((entry) => {
      const data = atob(entry.xdr);
      const at = data.indexOf("\0\0\0\x13\0\0\0\0");
      return at < 0 ? entry : { ...entry, xdr: btoa(data.slice(0, at + 7) + "\x09" + data.slice(at + 8)) };
    });
    const settings = { metricsToken: METRICS_TOKEN };
    await withGateway({ fetch, settings, now: () => Date.now() + aheadMs }, async (api, reported) => {
      const first = await looked(api);
      for (const { problem } of first) {
        assert.match(problem!, /^the gateway cannot check it: .+ layout than the gateway expects$/);
      }
      assert.equal((await api.scrape()).get("gateway_contract_problems")!.samples[0]!.value, 3);
      aheadMs = 61_000;
      await until(async () => (await shown(api))[0]!.checkedAt !== first[0]!.checkedAt);
      assert.deepEqual(reported().map(({ message }) => message), [NOT_AS_EXPECTED, NOT_AS_EXPECTED, NOT_AS_EXPECTED]);
    });
  });
});
