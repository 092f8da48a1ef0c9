import type { Config } from "../lib/config.ts";
import { createEscrow } from "../lib/escrow/escrow.ts";
import type { ContractIds } from "../lib/escrow/contract_errors.ts";
import { checkInterfaces, type ContractFinding, registriesOf } from "../lib/escrow/interface_check.ts";
import { GatewayError } from "../lib/errors.ts";
import type { Wait } from "../lib/stellar/clock.ts";
import type { RpcClient } from "../lib/stellar/rpc.ts";
import { createLedgerTip } from "../lib/stellar/tip.ts";
import type { Store } from "../lib/store/store.ts";
import { fail, type Finding, ok, skip, warn } from "./doctor_findings.ts";

export interface ContractParts {
  config: Config;
  rpc: RpcClient;
  store: Store | undefined;
  now: () => number;
  wait: Wait;
}

/** Where each id is set, and what the contract is called. */
const CONTRACT = {
  device_registry: { title: "device registry", setting: "SERVICE_API_DEVICE_REGISTRY" },
  agent_registry: { title: "agent registry", setting: "SERVICE_API_AGENT_REGISTRY" },
  payment_escrow: { title: "payment escrow", setting: "SERVICE_API_PAYMENT_ESCROW" },
} as const;

/** The three contracts: there, of the expected interface, belonging together, readable by their storage. */
export async function* examineContracts(parts: ContractParts): AsyncGenerator<Finding> {
  const { config, rpc } = parts;
  const contracts: ContractIds = {
    deviceRegistry: config.deviceRegistry,
    agentRegistry: config.agentRegistry,
    paymentEscrow: config.paymentEscrow,
  };
  try {
    const found = await checkInterfaces({ rpc, contracts });
    for (const contract of found) yield contractFinding(contract);
    const isUsable = ({ state }: ContractFinding) => state === "as_expected" || state === "other_errors";
    if (!found.every(isUsable)) return;
    yield await registriesFinding(rpc, contracts);
    yield await readsFinding(parts, contracts);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    yield fail("contracts", error.message, "try again; if it stays, use another node");
  }
}

function contractFinding({ name, id, state, looksLike, differences, codeHash }: ContractFinding): Finding {
  const { title, setting } = CONTRACT[name];
  switch (state) {
    case "as_expected":
      return ok(title, `${id} has the expected interface (code ${codeHash!.slice(0, 12)}…)`);
    case "missing":
      return fail(
        title,
        `there is no contract ${id} on this network`,
        `correct ${setting}; testnet is reset a few times a year, and every new deployment has new ids`,
      );
    case "archived":
      return fail(title, `${id} is archived`, "restore the contract and its code (stellar contract restore)");
    case "asset":
      return fail(title, `${id} is the contract of an asset`, `${setting} has to be the id of the ${title}`);
    case "other_errors":
      return warn(
        title,
        `${id} can be called, but names its errors otherwise: ${differences.join("; ")}`,
        "refusals of this contract will be told by the wrong name: look for a newer gateway",
      );
    case "another":
      return looksLike === undefined
        ? fail(
          title,
          `${id} has another interface: ${abridged(differences)}`,
          `${setting} has to be the id of a ${title} of this gateway's version`,
        )
        : fail(
          title,
          `${id} is the ${CONTRACT[looksLike].title}, not the ${title}`,
          `the ids of ${setting} and ${CONTRACT[looksLike].setting} seem to be swapped`,
        );
  }
}

function abridged(differences: string[]): string {
  const more = differences.length - 2;
  return differences.slice(0, 2).join("; ") + (more > 0 ? `; and ${more} more` : "");
}

/** The escrow asks the registries it was initialised with, whatever the settings say. */
async function registriesFinding(rpc: RpcClient, contracts: ContractIds): Promise<Finding> {
  const own = await registriesOf({ rpc, contracts });
  if (own.deviceRegistry === undefined || own.agentRegistry === undefined) {
    return fail(
      "escrow's registries",
      `${contracts.paymentEscrow} is not initialised: it knows no registries`,
      "call its initialize with the two registries of the settings",
    );
  }
  const others = (["deviceRegistry", "agentRegistry"] as const).filter((which) => own[which] !== contracts[which]);
  if (others.length === 0) return ok("escrow's registries", "it was initialised with the registries of the settings");
  const found = others.map((which) => `its ${CONTRACT[NAME[which]].title} is ${own[which]}`).join(", ");
  return fail(
    "escrow's registries",
    `the escrow was initialised with others than the settings name: ${found}`,
    `set ${others.map((which) => CONTRACT[NAME[which]].setting).join(" and ")} to that, or name another escrow`,
  );
}

const NAME = { deviceRegistry: "device_registry", agentRegistry: "agent_registry" } as const;

/** Reads one card both ways, as the gateway does at its first read. */
async function readsFinding(
  { config, rpc, store, now, wait }: ContractParts,
  contracts: ContractIds,
): Promise<Finding> {
  const [registered] = await store?.readEvents({ limit: 1, types: ["device.registered"] }) ?? [];
  if (registered?.deviceHash === undefined) return skip("reads", "no card is known yet to read both ways");
  const { reads } = createEscrow({
    rpc,
    tip: createLedgerTip(),
    now,
    wait,
    contracts,
    networkPassphrase: config.networkPassphrase,
    submitTimeoutMs: config.submitTimeoutMs,
    noteSubmission: () => Promise.reject(new Error("the doctor submits nothing")),
    getSubmission: () => Promise.resolve(undefined),
  });
  await reads.card(registered.deviceHash);
  const differing = Object.entries(reads.ways()).filter(([, way]) => way === "calls").map(([kind]) => kind);
  if (differing.length === 0) return ok("reads", "storage and functions of the contracts say the same of a card");
  return warn(
    "reads",
    `the contracts' storage and their functions say different things (${differing.join(", ")})`,
    "the gateway reads by calls then, which is slower: look for a newer gateway",
  );
}
