// needs: once
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Operation, xdr } from "@stellar/stellar-sdk";
import { bootstrapSandbox } from "../../lib/sandbox/bootstrap.ts";
import { parseSettings, settingEntry, withSettings } from "../../lib/sandbox/ledger/settings.ts";
import {
  alice,
  apply,
  build,
  codesOf,
  contractCode,
  fund,
  invoke,
  prepare,
  signed,
  startNetwork,
  submit,
} from "./sandbox_network.ts";
import { cardCalls, holdersOf } from "./soroban_parts.ts";

const [U32, I61] = [4_294_967_295, "2305843009213693951"];

/** The form that `stellar network settings` prints. */
const json = (...settings: Record<string, unknown>[]) => JSON.stringify({ updated_entry: settings }, undefined, 2);

/** Limits as on a local network without any: the largest values of their types. */
const UNLIMITED = json(
  { contract_max_size_bytes: U32 },
  {
    contract_compute_v0: {
      fee_rate_per_instructions_increment: "100",
      ledger_max_instructions: I61,
      tx_max_instructions: I61,
      tx_memory_limit: U32,
    },
  },
  {
    contract_ledger_cost_v0: {
      fee_disk_read1_kb: "1000",
      fee_disk_read_ledger_entry: "1000",
      fee_write_ledger_entry: "3000",
      ledger_max_disk_read_bytes: U32,
      ledger_max_disk_read_entries: U32,
      ledger_max_write_bytes: U32,
      ledger_max_write_ledger_entries: U32,
      rent_fee1_kb_soroban_state_size_high: "10000",
      rent_fee1_kb_soroban_state_size_low: "-17000",
      soroban_state_rent_fee_growth_factor: 5000,
      soroban_state_target_size_bytes: "4294967295",
      tx_max_disk_read_bytes: U32,
      tx_max_disk_read_entries: U32,
      tx_max_write_bytes: U32,
      tx_max_write_ledger_entries: U32,
    },
  },
  { contract_events_v0: { fee_contract_events1_kb: "300", tx_max_contract_events_size_bytes: U32 } },
  { contract_bandwidth_v0: { fee_tx_size1_kb: "500", ledger_max_txs_size_bytes: U32, tx_max_size_bytes: U32 - 2_000 } },
  { contract_data_key_size_bytes: U32 },
  { contract_data_entry_size_bytes: U32 },
);

const start = (text: string) => startNetwork({ adjustSettings: withSettings(parseSettings(text)) });

/** A valid contract of about so many bytes: a module with nothing but a custom section. */
function contractOf(byteLength: number): Uint8Array {
  const leb = (n: number): number[] => n < 128 ? [n] : [n % 128 + 128, ...leb(Math.floor(n / 128))];
  const base = contractCode().deviceRegistry;
  const name = [1, 120];
  const filler = new Uint8Array(byteLength - base.length);
  return Uint8Array.from([...base, 0, ...leb(filler.length + name.length), ...name, ...filler]);
}

describe("the network settings", () => {
  test("without limits take a contract that the public network's settings refuse, and the life of a card", async () => {
    const large = Operation.uploadContractWasm({ wasm: contractOf(140_000) });
    const usual = await startNetwork();
    await fund(usual.network, alice);
    assert.throws(() => apply(usual.network, signed(prepare(usual.network, alice, large), alice)));

    const { network } = await start(UNLIMITED);
    const sandbox = bootstrapSandbox(network, { contracts: contractCode() });
    await fund(network, alice);
    const uploaded = apply(network, signed(prepare(network, alice, large), alice));
    assert.equal(codesOf(uploaded.resultXdr), "txSuccess/invokeHostFunction/invokeHostFunctionSuccess");
    const { owner, agent, merchant } = holdersOf(sandbox);
    const calls = cardCalls(sandbox);
    const life = [
      [owner, calls.register()],
      [owner, calls.registerAgent()],
      [owner, calls.fund(30n)],
      [agent, calls.authorize(20n, 1n)],
      [merchant, calls.claim()],
    ] as const;
    for (const [source, call] of life) assert.equal(invoke(network, source, call).successful, true);
  });

  test("set fees and limits, in JSON and in XDR alike; other settings stay", async () => {
    const bandwidth = (fee: string, size: number) =>
      json({
        contract_bandwidth_v0: { fee_tx_size1_kb: fee, ledger_max_txs_size_bytes: 266_240, tx_max_size_bytes: size },
      });
    const upload = Operation.uploadContractWasm({ wasm: contractCode().agentRegistry });
    const feeOf = async (text: string) => {
      const { network } = await start(text);
      await fund(network, alice);
      const simulated = network.simulate(build(network, alice, [upload]).toEnvelope().toXdr(), {});
      assert.ok(simulated.ok);
      return simulated.minResourceFee;
    };
    const asXdr = new xdr.ConfigUpgradeSet({ updatedEntry: parseSettings(bandwidth("40600", 132_096)) }).toXdr(
      "base64",
    );
    const [cheap, dear, same] = [
      await feeOf(bandwidth("0", 132_096)),
      await feeOf(bandwidth("40600", 132_096)),
      await feeOf(`${asXdr}\n`),
    ];
    assert.ok(dear > cheap + 400_000n, `${dear} stroops and ${cheap}`);
    assert.equal(same, dear);

    const { network } = await start(bandwidth("406", 9_000));
    await fund(network, alice);
    assert.equal(submit(network, signed(prepare(network, alice, upload), alice)).status, "ERROR");
    const [other] = parseSettings(json({ contract_data_key_size_bytes: 250 }));
    const { keyXdr, dataXdr } = settingEntry(other!);
    assert.deepEqual(network.entry(keyXdr)!.dataXdr, dataXdr);
  });

  const wrong: [what: string, text: string, message: RegExp][] = [
    [
      "a misspelt setting",
      json({ contract_max_size: 5 }),
      /no ConfigUpgradeSet in JSON: .*unknown case contract_max_size/,
    ],
    ["broken JSON", "{", /no ConfigUpgradeSet in JSON/],
    ["another XDR value", "AAAA", /no ConfigUpgradeSet in base64/],
    ["an empty set", json(), /it has no settings/],
    ["a setting twice", json({ contract_max_size_bytes: 5 }, { contract_max_size_bytes: 6 }), /MaxSizeBytes twice/],
    [
      "a change of frozen keys",
      json({ frozen_ledger_keys_delta: { keys_to_freeze: [], keys_to_unfreeze: [] } }),
      /is no setting/,
    ],
  ];
  for (const [what, text, message] of wrong) {
    test(`${what} is refused`, () => assert.throws(() => parseSettings(text), message));
  }
});
