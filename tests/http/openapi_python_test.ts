// needs: long, once
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { type Examples, openApiDocument } from "../../lib/http/openapi.ts";
import examples from "../../lib/http/openapi_examples.json" with { type: "json" };
import { NOUNS } from "../../lib/http/routes/routes.ts";

const document = openApiDocument(NOUNS, "0.0.0", examples as unknown as Examples);
const run = promisify(execFile);

const GENERATOR = "datamodel-code-generator==0.89.0";
const INSTALL_MS = 240_000;
const GENERATE_MS = 120_000;

/** What a Python program does with the models: the examples are values of them, and what is wrong is none. */
const USE_PYTHON = `
import json, sys
from pydantic import TypeAdapter, ValidationError
import gateway

examples = json.load(open(sys.argv[1]))
page = gateway.EventPage.model_validate(examples["operations"]["listEvents"]["responses"]["200"]["history"])
kinds = [type(getattr(event, "root", event)).__name__ for event in page.events]
gateway.PreparedTransaction.model_validate(examples["operations"]["prepareTransaction"]["responses"]["200"]["authorize"])
gateway.Error.model_validate(examples["errors"]["contract_refused"])
ended = examples["operations"]["getTransaction"]["responses"]["200"]
name = gateway.TransactionStatus.model_validate(ended["failed"]).contractError
assert gateway.ContractErrorName(name) is gateway.ContractErrorName.AgentNotAuthorized
assert gateway.TransactionStatus.model_validate(ended["rejected"]).transactionError == "txBadSeq"
unnamed = {"code": "contract_refused", "message": "?", "retry": "never", "contractError": "#77"}
assert gateway.ErrorDetail.model_validate(unnamed).contractError == "#77"
gateway.WebhookDelivery.model_validate(examples["delivery"]["body"])
try:
    TypeAdapter(gateway.Operation).validate_python({"kind": "claim"})
    refused = False
except ValidationError:
    refused = True
print(json.dumps({"kinds": kinds, "refused": refused}))
`;

/** Installs the generator in a new environment; undefined without Python or PyPI. */
async function pythonWithGenerator(folder: string): Promise<string | undefined> {
  const python = join(folder, "bin", "python");
  try {
    await run("python3", ["-m", "venv", folder], { timeout: INSTALL_MS });
    const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", GENERATOR];
    await run(python, install, { timeout: INSTALL_MS });
    return python;
  } catch {
    return undefined;
  }
}

test("generated Python models import and accept the gateway's example answers", {
  timeout: INSTALL_MS + GENERATE_MS,
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "openapi-python-"));
  try {
    const python = await pythonWithGenerator(folder);
    if (python === undefined) return t.skip(`needs python3 with venv, and ${GENERATOR}`);
    const file = (name: string) => join(folder, name);
    await writeFile(file("openapi.json"), JSON.stringify(document));
    await writeFile(file("examples.json"), JSON.stringify(examples));
    await writeFile(file("use.py"), USE_PYTHON);
    const generate = ["--input", file("openapi.json"), "--input-file-type", "openapi", "--output", file("gateway.py")];
    const options = ["--output-model-type", "pydantic_v2.BaseModel", "--target-python-version", "3.11"];
    await run(python, ["-m", "datamodel_code_generator", ...generate, ...options], { timeout: GENERATE_MS });
    const { stdout } = await run(python, [file("use.py"), file("examples.json")], { timeout: GENERATE_MS });
    const { kinds, refused } = JSON.parse(stdout);
    assert.deepEqual(kinds.slice(0, 4), ["DeviceRegistered", "AgentRegistered", "EscrowFunded", "PaymentAuthorized"]);
    assert.equal(refused, true);
  } finally {
    await rm(folder, { recursive: true });
  }
});
