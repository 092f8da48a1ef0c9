import { type Clock, systemClock } from "../../../lib/clock.ts";
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ExaminationParts, examine } from "../../../cli/doctor/checks.ts";
import type { Finding } from "../../../cli/doctor/findings.ts";
import type { SettingName } from "../../../lib/config.ts";
import { readConfig } from "../../../cli/read_config.ts";
import { openStore } from "../../../lib/store/open.ts";
import type { Store } from "../../../lib/store/store.ts";
import { startSandbox } from "../../escrow/sandbox.ts";
import { after, before } from "node:test";

export const NODE = "http://node.test/secret-token";

type Settings = Partial<Record<SettingName, string>>;

export type DoctorStage = Awaited<ReturnType<typeof startDoctorStage>>;

/** Pauses take no time; the deadline of a call, which is called off when the call has ended, takes its own. */
export const quickWait: Clock["wait"] = (delayMs, signal) =>
  signal === undefined ? Promise.resolve() : systemClock.wait(delayMs, signal);

/** A sandbox network for the doctor to look at, and a folder for stores. Close it after use. */
async function startDoctorStage() {
  const folder = await mkdtemp(join(tmpdir(), "doctor-"));
  const sandbox = await startSandbox();
  let count = 0;

  const newPath = (name = "gateway.db") => join(folder, `${count++}-${name}`);

  function settingsFor(settings: Settings): Settings {
    return {
      rpcUrls: NODE,
      networkPassphrase: sandbox.network.passphrase,
      ...sandbox.contracts,
      port: "0",
      store: `sqlite:${newPath()}`,
      ...settings,
    };
  }

  /** The doctor's findings for a healthy gateway with these settings and parts changed. */
  async function examined(settings: Settings = {}, parts: Partial<ExaminationParts> = {}): Promise<Finding[]> {
    const findings: Finding[] = [];
    const all = {
      config: readConfig({}, settingsFor(settings)),
      target: undefined,
      fetch: sandbox.fetch,
      resolve: () => Promise.reject(new Error("nothing is looked up")),
      clock: { now: sandbox.nowMs, monotonicMs: systemClock.monotonicMs, wait: quickWait },
      ...parts,
    };
    for await (const finding of examine(all)) findings.push(finding);
    return findings;
  }

  /** The one finding of a check. */
  async function finding(check: string, settings: Settings = {}, parts: Partial<ExaminationParts> = {}) {
    const found = (await examined(settings, parts)).filter((one) => one.check === check);
    assert.equal(found.length, 1, `${check}: ${JSON.stringify(found)}`);
    return found[0]!;
  }

  /** The setting of a new store that holds this. */
  async function storeWith(fill: (store: Store) => Promise<unknown>): Promise<string> {
    const setting = `sqlite:${newPath()}`;
    const store = await openStore(setting);
    await fill(store);
    await store.close();
    return setting;
  }

  const rpcAnswer =
    (change: (result: Record<string, unknown>, method: string) => unknown): ExaminationParts["fetch"] =>
    async (url, init) => {
      const { method } = JSON.parse(String(init.body));
      const answer = await (await sandbox.fetch(url, init)).json();
      return Response.json({ ...answer, result: change(answer.result, method) });
    };

  return {
    sandbox,
    folder,
    newPath,
    examined,
    finding,
    storeWith,
    rpcAnswer,
    close: () => rm(folder, { recursive: true }),
  };
}

/** The stage of a file's tests, set before the first of them and closed after the last. */
export function doctorOfFile(): DoctorStage {
  const doctor = {} as DoctorStage;
  before(async () => void Object.assign(doctor, await startDoctorStage()));
  after(() => doctor.close());
  return doctor;
}

/** Checks a finding, and that it gives nothing away. */
export function says(
  { verdict, found, todo }: Finding,
  expected: Finding["verdict"],
  what: RegExp,
  then?: RegExp,
): void {
  assert.equal(verdict, expected, found);
  assert.match(found, what);
  if (then !== undefined) assert.match(todo!, then);
  assert.ok(!`${found}${todo}`.includes("secret-token"), "the node's token was shown");
}
