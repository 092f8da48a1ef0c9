// needs: neutral
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { UsageError } from "../../cli/command.ts";
import { command } from "../../cli/verify.ts";
import { fakeIo, type FakeIoOptions } from "./fake_io.ts";
import { folderForTests } from "../folder.ts";

// Computed by openssl: how is said in tests/webhooks/delivery/signature_test.ts.
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const BODY =
  '{"subscription":"wh_1","event":{"type":"payment.claimed","id":"evt_1","merchant":"Zürich","amount":"10"}}';
const AT = 1_767_225_600;
const V1 = "51253e2fa174f39c084f65a986bce5afe6011e9c2d429a5a3131e2e272a6911b";
const SIGNATURE = ["--signature", `t=${AT},v1=${V1}`];
const STANDARD_V1 = "v1,FEhDANYl2th9/1shaOIrsRkWD/QrowCEMBogll4j7GU=";
const STANDARD = ["--signature", STANDARD_V1, "--id", "evt_1", "--timestamp", `${AT}`];
const env = { SERVICE_WEBHOOK_SECRET: SECRET };

const folder = folderForTests();
let file: string;
before(async () => {
  file = join(folder, "body.json");
  await writeFile(file, BODY);
});

async function verify(args: string[], options: FakeIoOptions = {}) {
  const io = fakeIo({ now: AT * 1000, ...options });
  const code = await command.run(args, io);
  return { code, out: io.out, err: io.err };
}

async function usage(args: string[], options: FakeIoOptions = {}): Promise<string> {
  const error = await verify(args, options).then(() => assert.fail("nothing was refused"), (error) => error);
  assert.ok(error instanceof UsageError, String(error));
  return error.message;
}

describe("verify", () => {
  const right = { code: 0, out: "The signature is right. Signed at 2026-01-01T00:00:00.000Z\n", err: "" };

  test("takes the secret from the environment and the body from standard input", async () => {
    assert.deepEqual(await verify(SIGNATURE, { env, stdin: BODY }), right);
    assert.deepEqual(await verify(STANDARD, { env, stdin: BODY }), right);
  });

  test("takes the body from a file and the secret from the first line of standard input", async () => {
    assert.deepEqual(await verify([...SIGNATURE, "--body", file], { stdin: `${SECRET}\n` }), right);
    assert.deepEqual(await verify([...STANDARD, "--body", file], { stdin: `${SECRET}\r\nmore` }), right);
  });

  test("asks for the secret at a terminal", async () => {
    const { code, err } = await verify([...SIGNATURE, "--body", file], { answer: SECRET });
    assert.deepEqual([code, err], [0, "Secret: "]);
  });

  test("does not read standard input when it needs no input", async () => {
    assert.deepEqual(await verify([...SIGNATURE, "--body", file], { env, stdin: "whsec_other" }), right);
  });

  test("exits with 1 and prints the cause when the signature is wrong or old", async () => {
    const wrong = await verify(SIGNATURE, { env, stdin: BODY.replace("10", "99") });
    assert.deepEqual([wrong.code, wrong.out], [1, ""]);
    assert.equal(wrong.err, "gateway verify: no signature in X-Service-Signature is right for this body and secret\n");
    const old = await verify(SIGNATURE, { env, stdin: BODY, now: (AT + 301) * 1000 });
    assert.equal(old.code, 1);
    assert.equal(old.err, "gateway verify: the signature is 301 s in the past, at most 300 s are allowed\n");
  });

  test("checks as of another time, or with another tolerance", async () => {
    const later = { env, stdin: BODY, now: (AT + 90_000) * 1000 };
    assert.equal((await verify([...SIGNATURE, "--at", `${AT + 10}`], later)).code, 0);
    assert.equal((await verify([...SIGNATURE, "--tolerance", "90000"], later)).code, 0);
    assert.equal((await verify([...SIGNATURE, "--at", `${AT + 10}`, "--tolerance", "9"], later)).code, 1);
  });

  test("takes the signature as a whole header, as copied from a log", async () => {
    const standard = ["--signature", `webhook-signature:${STANDARD_V1}`, ...STANDARD.slice(2)];
    for (const args of [["--signature", `X-Service-Signature: t=${AT},v1=${V1}`], standard]) {
      assert.deepEqual(await verify(args, { env, stdin: BODY }), right);
    }
  });

  test("fails with 1 when the body is empty or cannot be read", async () => {
    const failures: [string[], RegExp][] = [
      [SIGNATURE, /^the body is empty/],
      [[...SIGNATURE, "--body", "/none/body.json"], /^--body \/none\/body\.json cannot be read: no such file$/],
      [[...SIGNATURE, "--body", folder], /cannot be read: it is a folder$/],
    ];
    for (const [args, message] of failures) {
      await assert.rejects(verify(args, { env }), { name: "CommandError", message });
    }
  });

  test("reports that only a newline at the end of the body is wrong", async () => {
    for (const newline of ["\n", "\r\n"]) {
      const { code, err } = await verify(SIGNATURE, { env, stdin: BODY + newline });
      assert.equal(code, 1);
      assert.match(err, /is right without the newline at the end of the body/);
    }
    assert.doesNotMatch((await verify(SIGNATURE, { env, stdin: "{}\n" })).err, /newline/);
  });

  const secret = (of: string) => ({ env: { SERVICE_WEBHOOK_SECRET: of } });
  const integer = (flag: string, got: string) =>
    RegExp(`^--${flag} must be an integer from 0 to 99999999999; got "${got}"$`);
  const wrong: [what: string, args: string[], message: RegExp, options?: FakeIoOptions][] = [
    ["no signature", [], /--signature is missing/],
    ["no secret", SIGNATURE, /SERVICE_WEBHOOK_SECRET is not set: .* --body FILE/, { env: {} }],
    ["an empty secret", SIGNATURE, /SERVICE_WEBHOOK_SECRET is not set/, secret("")],
    ["a secret that is none", SIGNATURE, /SERVICE_WEBHOOK_SECRET must be .* whsec_ and base64$/, secret("hush")],
    ["a secret among the arguments", [...SIGNATURE, "--secret", SECRET], /unknown flag --secret/],
    [
      "a signature that is none",
      ["--signature", "v1=abc"],
      /^--signature must be t=<Unix .* hex digits>; got "v1=abc"$/,
    ],
    [
      "a cut webhook-signature",
      [...STANDARD, "--signature=v1,abc"].slice(2),
      /^--signature must be v1,.*; got "v1,abc"$/,
    ],
    ["a webhook-timestamp that is none", [...STANDARD.slice(0, 4), "--timestamp", "abc"], integer("timestamp", "abc")],
    [
      "a cut secret",
      SIGNATURE,
      /a whole webhook secret; got 20 characters. Is it cut off\?$/,
      secret(SECRET.slice(0, 20)),
    ],
    ["a secret that lost its last letter", SIGNATURE, /must be a whole webhook secret/, secret(SECRET.slice(0, -1))],
    ["a tolerance that is none", [...SIGNATURE, "--tolerance", "5m"], integer("tolerance", "5m")],
    ["a time that is none", [...SIGNATURE, "--at", "today"], integer("at", "today")],
    ["a webhook-signature without its id", STANDARD.slice(0, 2), /--id is missing/],
    ["a webhook-signature without its time", STANDARD.slice(0, 4), /--timestamp is missing/],
    ["an id without a webhook-signature", [...SIGNATURE, "--id", "evt_1"], /--id is only for the webhook-signature/],
    ["what is no flag", [...SIGNATURE, "body.json"], /unexpected "body.json"/],
  ];
  for (const [what, args, message, options] of wrong) {
    test(`refuses ${what}, naming it`, async () => {
      assert.match(await usage(args, { env, stdin: BODY, ...options }), message);
    });
  }

  test("never quotes a secret that it refuses", async () => {
    const message = await usage([...SIGNATURE, "--body", file], { stdin: "hush-hush\n" });
    assert.match(message, /^the first line of standard input must be a webhook secret/);
    assert.ok(!message.includes("hush"));
  });
});
