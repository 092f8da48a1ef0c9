import { type Config, settingTitle } from "../../lib/config.ts";
import { createEscrow } from "../../lib/escrow/escrow.ts";
import { CONTRACT_KEYS, type ContractIds, type ContractName } from "../../lib/escrow/contracts/errors.ts";
import { CONTRACT_TITLES, contractWords, isUsable } from "../../lib/escrow/contracts/contract_check.ts";
import { checkInterfaces, type ContractFinding, registriesOf } from "../../lib/escrow/contracts/interface_check.ts";
import { UnexpectedEntry } from "../../lib/escrow/decode.ts";
import { GatewayError } from "../../lib/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { RpcClient } from "../../lib/stellar/rpc/client.ts";
import type { Head } from "../../lib/stellar/head.ts";
import type { Store } from "../../lib/store/store.ts";
import { fail, type Finding, ok, skip, warn } from "./findings.ts";
import { booksFinding } from "./books.ts";
import { assetsFinding, movementsFinding, ownersFinding } from "./guards.ts";
import { expiredFinding } from "./payments.ts";
import { issuersFinding, solvencyFinding } from "./solvency.ts";
import { readingStore } from "./store.ts";

export interface ContractParts {
  config: Config;
  rpc: RpcClient;
  head: Head;
  store: Store | undefined;
  clock: Clock;
}

const settingOf = (name: ContractName) => settingTitle(CONTRACT_KEYS[name]);

/** Checks that the three contracts exist, have the expected interface, belong together, and are readable by storage. */
export async function* examineContracts(parts: ContractParts): AsyncGenerator<Finding> {
  const { config, rpc } = parts;
  const contracts: ContractIds = {
    deviceRegistry: config.deviceRegistry,
    agentRegistry: config.agentRegistry,
    paymentEscrow: config.paymentEscrow,
  };
  try {
    const found = await checkInterfaces({ rpc, contracts });
    for (const contract of found) yield contractFinding(contract, found);
    if (!found.every(isUsable)) {
      for (
        const check of [
          "escrow's registries",
          "reads",
          "card owners",
          "assets",
          "asset issuers",
          "movements",
          "escrow's money",
          "expired payments",
          "books",
        ]
      ) {
        yield skip(check, "not every contract is the expected one");
      }
      return;
    }
    yield await registriesFinding(rpc, contracts);
    yield await readingStore("reads", () => readsFinding(parts, contracts));
    yield await ownersFinding(parts);
    yield await assetsFinding(parts);
    yield await issuersFinding(parts);
    yield await readingStore("movements", () => movementsFinding(parts));
    yield await readingStore("escrow's money", () => solvencyFinding(parts));
    yield await readingStore("expired payments", () => expiredFinding(parts));
    yield await readingStore("books", () => booksFinding(parts));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const advice = error instanceof UnexpectedEntry
      ? "look for a gateway that knows the protocol of this network"
      : "run the doctor again, and if the failure stays, use another node";
    yield fail("contracts", error.message, advice);
  }
}

function contractFinding(contract: ContractFinding, all: ContractFinding[]): Finding {
  const { name, state, codeHash, external } = contract;
  const [title, found] = [CONTRACT_TITLES[name], contractWords(contract)];
  switch (state) {
    case "as_expected":
      return ok(title, `${found} (code ${codeHash!.slice(0, 12)}…${external === undefined ? "" : keeperOf(external)})`);
    case "missing":
      return fail(
        title,
        found,
        `correct ${settingOf(name)}: after a reset of testnet every contract has a new id`,
      );
    case "archived":
      return fail(title, found, "restore the contract and its code (stellar contract restore)");
    case "no_code":
      return fail(title, found, `ask the owner of ${external!.owner}: its tag has to name the contract's code`);
    case "other_errors":
      return warn(
        title,
        found,
        "the gateway reports refusals of this contract by wrong names: look for a newer gateway",
      );
    case "asset":
    case "another":
      return fail(title, found, adviceOnAnother(contract, all));
  }
}

/** An external executable (CAP-85) changes without the contract. */
function keeperOf({ owner, tag }: NonNullable<ContractFinding["external"]>): string {
  return `, which contract ${owner} chooses by its tag "${tag}"`;
}

/** Advice for a setting that names another contract. */
function adviceOnAnother({ name, id, looksLike }: ContractFinding, all: ContractFinding[]): string {
  const twin = all.find((other) => other.name !== name && other.id === id);
  if (twin !== undefined) {
    const [own, others] = [settingOf(name), settingOf(twin.name)];
    return `${own} and ${others} are the same id: set ${own} to the id of the ${CONTRACT_TITLES[name]}`;
  }
  const swapped = all.find((other) => other.name === looksLike && other.looksLike === name);
  if (swapped !== undefined) return `the ids of ${settingOf(name)} and ${settingOf(swapped.name)} seem to be swapped`;
  return `set ${settingOf(name)} to the id of the ${CONTRACT_TITLES[name]}, in a version that this gateway knows`;
}

/** The escrow uses the registries of its initialisation, which may differ from the settings. */
async function registriesFinding(rpc: RpcClient, contracts: ContractIds): Promise<Finding> {
  const own = await registriesOf({ rpc, contracts });
  if (own.deviceRegistry === undefined || own.agentRegistry === undefined) {
    return fail(
      "escrow's registries",
      `${contracts.paymentEscrow} is not initialised, so it has no registries`,
      "call its initialize with the two registries of the settings",
    );
  }
  const others = (["device_registry", "agent_registry"] as const)
    .filter((name) => own[CONTRACT_KEYS[name]] !== contracts[CONTRACT_KEYS[name]]);
  if (others.length === 0) return ok("escrow's registries", "initialised with the registries of the settings");
  const found = others.map((name) => `its ${CONTRACT_TITLES[name]} is ${own[CONTRACT_KEYS[name]]}`).join(", ");
  return fail(
    "escrow's registries",
    `the escrow was initialised with other registries than the settings name: ${found}`,
    `set ${others.map(settingOf).join(" and ")} to the registries of the escrow, or name another escrow`,
  );
}

const nothing = () => Promise.reject(new Error("the doctor prepares and submits nothing"));

/** Reads one card by storage and by calls, as the gateway does at its first read. */
async function readsFinding(
  { config, rpc, head, store, clock }: ContractParts,
  contracts: ContractIds,
): Promise<Finding> {
  const query = { filter: { types: ["device.registered"] }, order: "asc" as const, limit: 1 };
  const [registered] = await store?.events.read(query) ?? [];
  if (registered?.deviceHash === undefined) return skip("reads", "the log holds no card yet");
  const { reads } = createEscrow({
    rpc,
    head,
    clock,
    contracts,
    networkPassphrase: config.networkPassphrase,
    submitTimeoutMs: config.submitTimeoutMs,
    maxFee: config.maxFee,
    submissionLog: {
      ...{ record: nothing, recordSubmitter: nothing, recordOutcome: nothing, get: nothing, innerOf: nothing },
      ledgerOf: nothing,
    },
    events: { watcherState: nothing, read: nothing },
    catchUp: nothing,
    sharedState: { change: nothing },
    unresolved: nothing,
    keepUnresolved: nothing,
  });
  await reads.card(registered.deviceHash);
  const differing = Object.entries(reads.ways()).filter(([, way]) => way === "calls").map(([kind]) => kind);
  if (differing.length === 0) return ok("reads", "storage and functions of the contracts agree about a card");
  return warn(
    "reads",
    `storage and functions of the contracts differ (${differing.join(", ")})`,
    "the gateway reads by calls instead, which is slower: look for a newer gateway",
  );
}
