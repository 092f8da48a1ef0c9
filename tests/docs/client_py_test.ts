// needs: once
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { promisify } from "node:util";
import { startSandbox } from "../e2e/sandbox_process.ts";
import { INSTALL_MS, PACKAGE, pythonWithSdk } from "../sandbox/rpc/python.ts";
import { longOnly } from "../tier.ts";
import { json, python, skip } from "./client_py_stage.ts";

const DOCS = join(import.meta.dirname!, "../../docs");
const STORY_MS = 120_000;

const run = promisify(execFile);

test("the Python client has at most 258 lines", () => {
  assert.ok(readFileSync(join(DOCS, "client.py"), "utf8").trimEnd().split("\n").length <= 258);
});

test(
  "the Python client performs a card's whole life, receives its events, and refuses to sign altered envelopes",
  { skip: longOnly, timeout: INSTALL_MS + STORY_MS },
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "python-client-"));
    const python = await pythonWithSdk(folder);
    if (python === undefined) {
      await rm(folder, { recursive: true });
      return t.skip(`needs python3 with venv, and ${PACKAGE}`);
    }
    const sandbox = await startSandbox();
    try {
      const { gateway, apiKey, networkPassphrase, contracts, accounts, asset } = sandbox.info;
      const setting = { gateway, apiKey, network: { networkPassphrase, contracts }, accounts, asset };
      const { stdout } = await run(python, [join(import.meta.dirname!, "client_story.py"), DOCS], {
        timeout: STORY_MS,
        env: { ...process.env, SETTING: JSON.stringify(setting), PYTHONDONTWRITEBYTECODE: "1" },
      });
      const registered = ["device.registered", "agent.registered", "escrow.funded", "payment.authorized"];
      assert.deepEqual(JSON.parse(stdout), {
        writes: 9,
        seen: registered,
        held: [...registered, "escrow.defunded", "agent.revoked", "escrow.swept", "device.revoked"],
        refusals: Array(9).fill("envelope_refused"),
        received: { type: "payment.claimed" },
        forged: [null, null, null],
        stranger: "unauthorized",
        away: "unreachable",
        busy: "not_a_gateway",
        refused: "contract_refused",
        units: ["45000000", "100000000", "1"],
      });
    } finally {
      await sandbox.stop();
      await rm(folder, { recursive: true });
    }
  },
);

test(
  "the Python client refuses a base URL with user, password, query or fragment, without showing them",
  { skip },
  async () => {
    const lines = `result = []
for part in ["shop:geheim@127.0.0.1", "geheim@127.0.0.1", "127.0.0.1?key=geheim", "127.0.0.1/#geheim"]:
    try:
        Gateway("http://" + part, "service_sk_x").request("GET", "/v1/network")
    except GatewayError as error:
        result.append(str(error))`;
    const { result, asked } = await python(lines, []);
    const message = "invalid_request: base_url must have no user, password, query or fragment";
    assert.deepEqual([result, asked], [Array(4).fill(message), []]);
  },
);

test(
  "the Python client yields payments and transactions of all pages, with the filters on each",
  { skip },
  async () => {
    const lines = `result = [[one["id"] for one in gateway.payments(reference="order 1", state=None)]]
result.append([one["hash"] for one in gateway.transactions(status="failed")])
result.append(refusal(lambda: list(gateway.transactions(kind="pay"))))`;
    const { result, asked } = await python(lines, [
      json({ payments: [{ id: "1" }, { id: "2" }], cursor: "next" }),
      json({ payments: [{ id: "3" }], cursor: null }),
      json({ transactions: [{ hash: "aa" }], cursor: null }),
      json({ error: { code: "invalid_request", message: "no such kind", retry: "never" } }, "400 Bad Request"),
    ]);
    assert.deepEqual(result, [["1", "2", "3"], ["aa"], "GatewayError invalid_request"]);
    assert.deepEqual(asked.map((line) => line.split(" ")[1]), [
      "/v1/payments?limit=1000&reference=order+1",
      "/v1/payments?limit=1000&reference=order+1&cursor=next",
      "/v1/transactions?limit=1000&status=failed",
      "/v1/transactions?limit=1000&kind=pay",
    ]);
  },
);

test("the Python client computes the same deviceHash of a UID as the other clients", { skip }, async () => {
  const vectors = JSON.parse(readFileSync(join(DOCS, "../tests/client/device_hashes.json"), "utf8"));
  const lines = `def hash_of(uid):
    try:
        return device_hash(uid)
    except ValueError:
        return None
result = [hash_of(one["uid"]) for one in json.loads(${JSON.stringify(JSON.stringify(vectors))})]`;
  const { result } = await python(lines, []);
  assert.deepEqual(result, vectors.map(({ deviceHash }: { deviceHash: string | null }) => deviceHash));
});
