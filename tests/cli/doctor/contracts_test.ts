// needs: neutral
import { StrKey } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { addressVal, deviceKey, hashVal, registryKey } from "../../../lib/escrow/reads/storage_keys.ts";
import type { RawLedgerEntry } from "../../../lib/stellar/rpc/schemas.ts";
import { deployExternalEscrow, keepsTag } from "../../escrow/code_owner.ts";
import { sampleEvent, scanned } from "../../store/samples.ts";
import { doctorOfFile, says } from "./stage.ts";

const NOWHERE = StrKey.encodeContract(new Uint8Array(32).fill(7));
const DEVICE = "5a".repeat(32);

const doctor = doctorOfFile();

/** The real node, with other answers about ledger entries. */
const withEntries = (change: (entry: RawLedgerEntry) => RawLedgerEntry[]) =>
  doctor.rpcAnswer((result, method) => {
    if (method !== "getLedgerEntries") return result;
    return { ...result, entries: (result.entries as RawLedgerEntry[]).flatMap(change) };
  });

describe("doctor: the contracts", () => {
  test("distinguishes a missing id, an asset, swapped ids and a foreign interface", async () => {
    const { deviceRegistry, agentRegistry, paymentEscrow } = doctor.sandbox.contracts;
    says(
      await doctor.finding("payment escrow", { paymentEscrow: NOWHERE }),
      "fail",
      /no contract C/,
      /PAYMENT_ESCROW.*reset/,
    );
    says(
      await doctor.finding("agent registry", { agentRegistry: doctor.sandbox.asset }),
      "fail",
      /contract of an asset, not the agent registry/,
      /^set SERVICE_API_AGENT_REGISTRY \(--agent-registry\) to the id of the agent registry/,
    );
    const swapped = { deviceRegistry: agentRegistry, agentRegistry: deviceRegistry };
    says(
      await doctor.finding("device registry", swapped),
      "fail",
      /is the agent registry, not the device/,
      /SERVICE_API_DEVICE_REGISTRY \(--device-registry\) and SERVICE_API_AGENT_REGISTRY .* seem to be swapped/,
    );
    const rotated = { deviceRegistry: agentRegistry, agentRegistry: paymentEscrow, paymentEscrow: deviceRegistry };
    const turned = await doctor.finding("device registry", rotated);
    says(turned, "fail", /is the agent registry/, /^set SERVICE_API_DEVICE_REGISTRY .* to the id of the device/);
  });

  test("distinguishes the same id in two settings from swapped ids, and skips the other checks", async () => {
    const { paymentEscrow } = doctor.sandbox.contracts;
    const findings = await doctor.examined({ deviceRegistry: paymentEscrow });
    const [device, , escrow, registries, reads] = findings.slice(-12);
    const twice =
      /^SERVICE_API_DEVICE_REGISTRY .* and SERVICE_API_PAYMENT_ESCROW .* are the same id: set SERVICE_API_D/;
    says(device!, "fail", /is the payment escrow, not the device registry/, twice);
    says(escrow!, "ok", /has the expected interface/);
    for (const [finding, check] of [[registries!, "escrow's registries"], [reads!, "reads"]] as const) {
      assert.equal(finding.check, check);
      says(finding, "skip", /not every contract is the expected one/);
    }
  });

  test("names the contract that chooses an escrow's external code, and a contract that chooses no code", async () => {
    const { network, account, contracts } = doctor.sandbox;
    const external = deployExternalEscrow(network, await account(), contracts);
    const { contracts: { paymentEscrow }, codeOwner, tag } = external;
    const code = new RegExp(
      `expected interface \\(code [0-9a-f]{12}…, which contract ${codeOwner} chooses by its tag "${tag}"\\)$`,
    );
    says(await doctor.finding("payment escrow", { paymentEscrow }), "ok", code);
    says(await doctor.finding("escrow's registries", { paymentEscrow }), "ok", /of the settings/);
    const none = withEntries((entry) => keepsTag(entry.key) ? [] : [entry]);
    const dangling = await doctor.finding("payment escrow", { paymentEscrow }, { fetch: none });
    says(
      dangling,
      "fail",
      new RegExp(`has no code: contract ${codeOwner} keeps no hash`),
      new RegExp(`owner of ${codeOwner}`),
    );
  });

  test("reports an escrow whose registries differ from the settings", async () => {
    const { agentRegistry, paymentEscrow } = doctor.sandbox.contracts;
    const key = registryKey(paymentEscrow, "AgentRegistry");
    const bytes = (id: string) => String.fromCharCode(...StrKey.decodeContract(id));
    const others = withEntries((entry) => [
      entry.key === key
        ? { ...entry, xdr: btoa(atob(entry.xdr).replace(bytes(agentRegistry), bytes(NOWHERE))) }
        : entry,
    ]);
    const other = await doctor.finding("escrow's registries", {}, { fetch: others });
    says(other, "fail", new RegExp(`its agent registry is ${NOWHERE}`), /SERVICE_API_AGENT_REGISTRY/);
    const none = withEntries((entry) => entry.key === key ? [] : [entry]);
    says(await doctor.finding("escrow's registries", {}, { fetch: none }), "fail", /is not initialised/, /initialize/);
  });

  test("reads a known card by storage and by calls", async () => {
    const { owner, agent, contracts } = doctor.sandbox;
    const address = (keypair: typeof owner) => keypair.publicKey();
    doctor.sandbox.invoke(
      owner,
      contracts.deviceRegistry,
      "register",
      addressVal(address(owner)),
      hashVal(DEVICE),
      addressVal(address(agent)),
    );
    const store = await doctor.storeWith((store) =>
      scanned(store, 2, { latestLedger: 3 }, [sampleEvent(1, { type: "device.registered", deviceHash: DEVICE })])
    );
    says(await doctor.finding("reads", { store }), "ok", /agree about a card/);
    const key = deviceKey(contracts.deviceRegistry, DEVICE);
    const withoutDevice = withEntries((entry) => entry.key === key ? [] : [entry]);
    const differing = await doctor.finding("reads", { store }, { fetch: withoutDevice });
    says(differing, "warn", /differ \(device\)/, /reads by calls/);
  });

  test("reports an agent registry that does not check who owns a card", async () => {
    says(
      await doctor.finding("card owners"),
      "warn",
      /that bypasses the gateway can replace a card's agent and spend its escrow/,
      /^deploy an agent registry whose register_agent/,
    );
    const error = "HostError: Error(Contract, #3)";
    const asking = doctor.rpcAnswer((result, method) =>
      method === "simulateTransaction" ? { latestLedger: result.latestLedger, error } : result
    );
    says(await doctor.finding("card owners", {}, { fetch: asking }), "ok", /checks who owns a card/);
  });

  test("reports the accepted assets, and a missing setting", async () => {
    says(
      await doctor.finding("assets"),
      "warn",
      /ASSETS \(--assets\) is not set, so the gateway accepts every asset/,
      /^set it to/,
    );
    says(await doctor.finding("assets", { assets: "native" }), "ok", /^the gateway accepts only native$/);
    const mixed = { assets: `native,USDC:${doctor.sandbox.owner.publicKey()}` };
    says(
      await doctor.finding("assets", mixed),
      "fail",
      /^USDC:G.* has no contract on this network$/,
      /correct the setting/,
    );
  });

  test("reports movements of the log in a wrong asset", async () => {
    const { asset, contracts } = doctor.sandbox;
    const [of, funded] = [{ contractId: contracts.paymentEscrow, deviceHash: DEVICE }, contracts.deviceRegistry];
    const events = [
      sampleEvent(1, { type: "agent.registered", deviceHash: DEVICE, contractId: contracts.agentRegistry, asset }),
      sampleEvent(2, { type: "escrow.funded", ...of, amount: "5", asset: funded }),
    ];
    const store = await doctor.storeWith((store) => scanned(store, 3, { latestLedger: 4 }, events));
    says(
      await doctor.finding("movements", { store }),
      "warn",
      /^1 in a wrong asset .* escrow.funded .*\(not_the_policys\)$/,
    );
    const listed = await doctor.finding("movements", { store, assets: "native" });
    says(listed, "warn", /\(not_listed\)$/, /docs\/security.md/);
    const empty = await doctor.storeWith((store) => scanned(store, 3, { latestLedger: 4 }, []));
    says(
      await doctor.finding("movements", { store: empty }),
      "ok",
      /none in a wrong asset among the newest 5000 events/,
    );
  });
});
