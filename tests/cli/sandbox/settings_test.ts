// needs: once
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { rpc, xdr } from "@stellar/stellar-sdk";
import { folderForTests } from "../../folder.ts";
import { failingSandboxHere, startSandboxHere } from "./sandbox_here.ts";

const folder = folderForTests();

function fileOf(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const events = (bytes: number) =>
  JSON.stringify({
    updated_entry: [{
      contract_events_v0: { fee_contract_events1_kb: "7000", tx_max_contract_events_size_bytes: bytes },
    }],
  });

test(
  "--settings gives a new ledger its limits and fees, and an existing ledger keeps its own",
  { timeout: 120_000 },
  async () => {
    const flags = ["--state", join(folder, "state"), "--settings", fileOf("first.json", events(12_345))];
    const sandbox = await startSandboxHere(flags);
    const key = xdr.LedgerKey.configSetting(
      new xdr.LedgerKeyConfigSetting({ configSettingId: xdr.ConfigSettingId.configSettingContractEventsV0 }),
    );
    const { entries } = await new rpc.Server(sandbox.info.rpc, { allowHttp: true }).getLedgerEntries(key);
    const { updatedEntry } = xdr.ConfigUpgradeSet.fromJson(JSON.parse(events(12_345)));
    assert.deepEqual(entries[0]!.val.toXdr(), xdr.LedgerEntryData.configSetting(updatedEntry[0]!).toXdr());
    assert.equal(await sandbox.stop(), 0);

    const again = await startSandboxHere(flags);
    assert.equal(await again.stop(), 0);
    const other = await failingSandboxHere([...flags.slice(0, 2), "--settings", fileOf("other.json", events(12_346))]);
    assert.equal(other.code, 1);
    const text = other.stderr.replace(/\s+/g, " ");
    assert.match(
      text,
      /--settings must be the settings of the ledger in \S+; \S+other\.json has another \w*ContractEventsV0/,
    );
  },
);

test("a file that holds no settings, or too small ones, is named with the reason", async () => {
  const cases: [file: string, message: RegExp][] = [
    [join(folder, "absent.json"), /--settings \S+absent\.json cannot be read: no such file/],
    [
      fileOf("wrong.json", '{"updated_entry":[{"contract_event_v0":{}}]}'),
      /wrong\.json must be the output of "stellar network settings": .*unknown case contract_event_v0/,
    ],
    [
      fileOf("small.json", '{"updated_entry":[{"contract_max_size_bytes":700}]}'),
      /small\.json must let the sandbox deploy its contracts: the setup of the sandbox failed/,
    ],
  ];
  for (const [file, message] of cases) {
    const { code, stderr } = await failingSandboxHere(["--settings", file]);
    assert.equal(code, 1);
    assert.match(stderr.replace(/\s+/g, " "), message);
  }
});
