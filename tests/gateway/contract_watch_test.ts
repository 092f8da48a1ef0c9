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
const TOLD = "the contract is not as expected; gateway doctor reports details";

const on = networkOfFile();

interface Told {
  level: string;
  message: string;
  setting?: string;
  problem?: string;
}

async function withGateway(
  options: UnderTestOptions,
  story: (api: GatewayUnderTest, told: () => Told[]) => Promise<void>,
): Promise<void> {
  const api = await startGateway(on, options);
  const told = () =>
    api.log().trim().split("\n").map((line) => JSON.parse(line) as Told)
      .filter(({ message }) => message.startsWith("the contract "));
  try {
    await story(api, told);
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
const warnings = (told: Told[]) =>
  told.map(({ level, message, setting, problem }) => {
    assert.deepEqual([level, message], ["warn", TOLD]);
    return [setting!.split(" ")[0], problem];
  });

/** The node, its entries changed on the way. */
const changed = (change: (entry: { xdr: string }) => { xdr: string }): RpcFetch => async (url, init) => {
  const answer = await (await on.fetch(url, init)).json();
  if (JSON.parse(String(init.body)).method === "getLedgerEntries") {
    answer.result.entries = answer.result.entries.map(change);
  }
  return Response.json(answer);
};

describe("the contracts of the settings", () => {
  test("nothing is said of contracts that are as expected, and the status shows that they were looked at", async () => {
    await withGateway({}, async (api, told) => {
      const { deviceRegistry, agentRegistry, paymentEscrow } = on.sandbox.contracts;
      const contracts = await looked(api);
      assert.deepEqual(contracts.map(({ contract, id, problem }) => [contract, id, problem]), [
        ["device_registry", deviceRegistry, null],
        ["agent_registry", agentRegistry, null],
        ["payment_escrow", paymentEscrow, null],
      ]);
      assert.deepEqual(told(), []);
    });
  });

  test("one line names the setting of an id that is not on the network", async () => {
    await withGateway({ settings: { paymentEscrow: NOWHERE } }, async (api, told) => {
      const problem = `there is no contract ${NOWHERE} on this network`;
      assert.equal((await looked(api))[2]!.problem, problem);
      assert.deepEqual(warnings(told()), [["SERVICE_API_PAYMENT_ESCROW", problem]]);
      assert.equal(told()[0]!.setting, "SERVICE_API_PAYMENT_ESCROW (--payment-escrow)");
    });
  });

  test("one line each tells ids that are other contracts'", async () => {
    const { agentRegistry } = on.sandbox.contracts;
    const settings = { deviceRegistry: on.sandbox.asset, paymentEscrow: agentRegistry };
    await withGateway({ settings }, async (api, told) => {
      await looked(api);
      assert.deepEqual(warnings(told()), [
        ["SERVICE_API_DEVICE_REGISTRY", `${on.sandbox.asset} is the contract of an asset, not the device registry`],
        ["SERVICE_API_PAYMENT_ESCROW", `${agentRegistry} is the agent registry, not the payment escrow`],
      ]);
    });
  });

  test("a registry that the escrow was not initialised with is told, though it is one", async () => {
    const { agentRegistry, paymentEscrow } = on.sandbox.contracts;
    const bytes = (id: string) => String.fromCharCode(...StrKey.decodeContract(id));
    const fetch = changed((entry) => {
      const data = atob(entry.xdr);
      if (!data.includes(bytes(paymentEscrow)) || !data.includes("AgentRegistry")) return entry;
      return { ...entry, xdr: btoa(data.replace(bytes(agentRegistry), bytes(NOWHERE))) };
    });
    await withGateway({ fetch }, async (api, told) => {
      await looked(api);
      const problem = `the payment escrow was initialised with another agent registry, ${NOWHERE}`;
      assert.deepEqual(warnings(told()), [["SERVICE_API_AGENT_REGISTRY", problem]]);
    });
  });

  test("other contracts than the store's are told by their setting, and those that are watched no more", async () => {
    const store = await openStore("memory:", { isShared: true });
    const { paymentEscrow } = on.sandbox.contracts;
    for (const escrow of [NOWHERE, paymentEscrow]) {
      await withGateway({ store: () => store, settings: { paymentEscrow: escrow } }, async (api) => {
        await api.gateway.turn(20_000);
        const told = api.log().includes("the watched contracts have changed");
        assert.equal(told, escrow !== NOWHERE);
        const setting = `SERVICE_API_PAYMENT_ESCROW (--payment-escrow) is ${paymentEscrow}`;
        const line =
          `the watched contracts have changed; ${setting}; ${NOWHERE} is no longer watched; the watcher reads`;
        if (told) assert.ok(api.log().includes(line), api.log());
      });
    }
    await store.close();
  });

  test("a gateway answers before its contracts have been looked at, and ends while they are", async () => {
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

  test("a node that was away is asked when it is back", async () => {
    let isAway = true;
    const fetch: RpcFetch = (url, init) =>
      isAway ? Promise.reject(new TypeError("connection refused")) : on.fetch(url, init);
    await withGateway({ fetch, settings: { paymentEscrow: NOWHERE } }, async (api, told) => {
      await until(() => /checking the contracts failed/.test(api.log()));
      assert.deepEqual(told(), []);
      isAway = false;
      assert.match((await looked(api))[2]!.problem!, /there is no contract/);
      assert.equal(told().length, 1);
    });
  });

  test("contracts that run other code are looked at again; what is mended is said as well", async () => {
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
    await withGateway({ fetch, now: () => Date.now() + aheadMs }, async (api, told) => {
      const policy = () => api.request("GET", `/v1/devices/${HASH}/policy`);
      await looked(api);
      assert.equal((await policy()).status, 404);
      isUpgraded = true;
      on.network.closeLedger();
      const problems = () => shown(api).then((contracts) => contracts.map(({ problem }) => problem));
      await until(async () => (await policy(), (await problems())[1] !== null));
      const [upgraded, ...wrong] = told();
      assert.deepEqual([upgraded!.level, upgraded!.message], ["warn", "the contract runs other code than before"]);
      assert.equal(warnings(wrong)[0]![0], "SERVICE_API_AGENT_REGISTRY");
      isUpgraded = false;
      aheadMs = 61_000;
      on.network.closeLedger();
      await until(async () => (await problems()).every((problem) => problem === null));
      const [, , , mended, ...more] = told();
      assert.deepEqual([mended!.level, mended!.message], ["info", "the contract is as expected again"]);
      assert.match(mended!.setting!, /^SERVICE_API_AGENT_REGISTRY /);
      assert.deepEqual(more, []);
    });
  });

  test("other code behind an external executable is said once, in log, status and metrics, and so is its return", async () => {
    const deployer = Keypair.random();
    await on.network.fund(deployer.publicKey());
    const external = deployExternalEscrow(on.network, deployer, on.sandbox.contracts);
    let aheadMs = 0;
    const settings = { paymentEscrow: external.contracts.paymentEscrow, metricsToken: METRICS_TOKEN };
    await withGateway({ settings, now: () => Date.now() + aheadMs }, async (api, told) => {
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
      assert.deepEqual(told().map(({ message }) => message), [
        changed,
        TOLD,
        changed,
        "the contract is as expected again",
      ]);
      assert.ok(told().every(({ setting }) => setting!.startsWith("SERVICE_API_PAYMENT_ESCROW ")));
    });
  });

  test("an instance that this gateway cannot read is said once for each contract, and is a problem in the status", async () => {
    let aheadMs = 0;
    // The kind of the executable is one that no protocol knows yet.
    const fetch = changed((entry) => {
      const data = atob(entry.xdr);
      const at = data.indexOf("\0\0\0\x13\0\0\0\0");
      return at < 0 ? entry : { ...entry, xdr: btoa(data.slice(0, at + 7) + "\x09" + data.slice(at + 8)) };
    });
    const settings = { metricsToken: METRICS_TOKEN };
    await withGateway({ fetch, settings, now: () => Date.now() + aheadMs }, async (api, told) => {
      const first = await looked(api);
      for (const { problem } of first) {
        assert.match(problem!, /^the gateway cannot check it: .+ layout than the gateway expects$/);
      }
      assert.equal((await api.scrape()).get("gateway_contract_problems")!.samples[0]!.value, 3);
      aheadMs = 61_000;
      await until(async () => (await shown(api))[0]!.checkedAt !== first[0]!.checkedAt);
      assert.deepEqual(told().map(({ message }) => message), [TOLD, TOLD, TOLD]);
    });
  });
});
