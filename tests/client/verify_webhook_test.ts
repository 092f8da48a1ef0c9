// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { verifyWebhook, type VerifyWebhookOptions, type WebhookHeaders } from "../../lib/client/verify_webhook.ts";

// Computed by openssl: how is said in tests/webhooks/delivery/signature_test.ts.
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OLD_SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const BODY =
  '{"subscription":"wh_1","event":{"type":"payment.claimed","id":"evt_1","merchant":"Zürich","amount":"10"}}';
const AT = 1_767_225_600;
const V1 = "51253e2fa174f39c084f65a986bce5afe6011e9c2d429a5a3131e2e272a6911b";
const OLD_V1 = "c9455019525a56a012399b3c94dc0268be45789dd583239cc0abedb7ca08807e";
const STANDARD = "v1,FEhDANYl2th9/1shaOIrsRkWD/QrowCEMBogll4j7GU=";
const OLD_STANDARD = "v1,Tuk1AJtbzfIpEysjeq4HA65QTsOi8Qw3EAxOQcJDzWA=";
const SEVERAL = `${OLD_STANDARD} v1a,xyz ${STANDARD}`;
const SERVICE = `t=${AT},v1=${V1}`;
const TRIO = { "webhook-id": "evt_1", "webhook-timestamp": `${AT}`, "webhook-signature": STANDARD };
const WRONG_V1 = "0".repeat(64);
const MANY_WRONG = `v1=${WRONG_V1},`.repeat(8);

function verify(headers: WebhookHeaders, options: Partial<VerifyWebhookOptions> = {}) {
  return verifyWebhook({ body: BODY, headers, secret: SECRET, nowMs: AT * 1000, ...options });
}

async function reason(headers: WebhookHeaders, options: Partial<VerifyWebhookOptions> = {}): Promise<string> {
  const verified = await verify(headers, options);
  assert.ok(!verified.ok, "nothing was refused");
  return verified.reason;
}

describe("verifyWebhook", () => {
  const good: [string, WebhookHeaders, object][] = [
    ["the header alone", SERVICE, {}],
    ["request headers", new Headers({ "X-Service-Signature": SERVICE }), {}],
    ["headers as Node hands them out", { host: "a", "x-service-signature": SERVICE }, {}],
    ["headers in their usual case", { "X-Service-Signature": SERVICE }, {}],
    ["headers in arrays", { "x-service-signature": [SERVICE] }, {}],
    ["the signature of either secret during a rotation", `t=${AT},v1=${OLD_V1},v1=${V1}`, {}],
    ["upper-case digits and white space", ` t=${AT} , v1=${V1.toUpperCase()} `, {}],
    ["signatures of a kind that is not known yet beside", `t=${AT},v2=abc,v1=${V1},x`, {}],
    ["the parts in another order", `v1=${V1},t=${AT}`, {}],
    ["the Standard Webhooks headers alone", TRIO, { id: "evt_1" }],
    ["all headers", { ...TRIO, "x-service-signature": SERVICE }, { id: "evt_1" }],
    ["several Standard Webhooks signatures", { ...TRIO, "webhook-signature": SEVERAL }, { id: "evt_1" }],
  ];
  for (const [what, headers, more] of good) {
    test(`accepts ${what}`, async () => {
      assert.deepEqual(await verify(headers), { ok: true, timestamp: AT, ...more });
    });
  }

  test("accepts the body as text, bytes, part of a larger buffer, or a buffer", async () => {
    const bytes = new TextEncoder().encode(BODY);
    const larger = new Uint8Array(bytes.length + 20);
    larger.set(bytes, 10);
    for (const body of [BODY, bytes, larger.subarray(10, 10 + bytes.length), bytes.slice().buffer]) {
      assert.ok((await verify(SERVICE, { body })).ok);
    }
  });

  test("accepts several secrets, one of which must match", async () => {
    assert.ok((await verify(SERVICE, { secret: [OLD_SECRET, SECRET] })).ok);
    assert.ok((await verify(TRIO, { secret: [OLD_SECRET, SECRET] })).ok);
    assert.equal(await reason(SERVICE, { secret: [] }), "wrong_signature");
  });

  test("allows at most 300 seconds before and after", async () => {
    for (const headers of [SERVICE, TRIO]) {
      assert.ok((await verify(headers, { nowMs: (AT + 300) * 1000 })).ok);
      assert.ok((await verify(headers, { nowMs: (AT - 300) * 1000 })).ok);
      assert.equal(await reason(headers, { nowMs: (AT + 301) * 1000 }), "timestamp_out_of_tolerance");
      assert.equal(await reason(headers, { nowMs: (AT - 301) * 1000 }), "timestamp_out_of_tolerance");
    }
  });

  test("accepts another tolerance, and uses the clock without nowMs", async () => {
    assert.ok((await verify(SERVICE, { nowMs: (AT + 900) * 1000, toleranceSeconds: 900 })).ok);
    assert.equal(await reason(SERVICE, { nowMs: (AT + 2) * 1000, toleranceSeconds: 1 }), "timestamp_out_of_tolerance");
    assert.equal(await reason(SERVICE, { nowMs: undefined }), "timestamp_out_of_tolerance");
  });

  const beside = (service: string) => ({ ...TRIO, "x-service-signature": service });
  const refused: [string, WebhookHeaders, string, Partial<VerifyWebhookOptions>?][] = [
    ["no header at all", {}, "missing_signature"],
    ["a body that was changed", SERVICE, "wrong_signature", { body: BODY.replace("10", "99") }],
    ["a body that was parsed and written again", SERVICE, "wrong_signature", { body: JSON.stringify(BODY, null, 1) }],
    ["another secret", SERVICE, "wrong_signature", { secret: OLD_SECRET }],
    ["a time that was changed", `t=${AT + 1},v1=${V1}`, "wrong_signature"],
    ["a signature of something else", `t=${AT},v1=${WRONG_V1}`, "wrong_signature"],
    ["the right signature behind too many wrong ones", `t=${AT},${MANY_WRONG}v1=${V1}`, "wrong_signature"],
    ["an empty header", "", "malformed_signature"],
    ["a header without a time", `v1=${V1}`, "malformed_signature"],
    ["a header with two times", `t=${AT},t=1,v1=${V1}`, "malformed_signature"],
    ["a negative time", `t=-${AT},v1=${V1}`, "malformed_signature"],
    ["a time that is no number", `t=NaN,v1=${V1}`, "malformed_signature"],
    ["a time with a fraction", `t=${AT}.5,v1=${V1}`, "malformed_signature"],
    ["a header without a signature", `t=${AT}`, "malformed_signature"],
    ["a signature that is too short", `t=${AT},v1=${V1.slice(2)}`, "malformed_signature"],
    ["a signature that is no hex", `t=${AT},v1=${"z".repeat(64)}`, "malformed_signature"],
    ["only a signature of another kind", `t=${AT},v0=${V1}`, "malformed_signature"],
    ["an endless header", `${SERVICE},${"v1=0,".repeat(10_000)}`, "malformed_signature"],
    ["another id", { ...TRIO, "webhook-id": "evt_2" }, "wrong_signature"],
    ["no id", { ...TRIO, "webhook-id": undefined }, "malformed_signature"],
    ["no timestamp", { ...TRIO, "webhook-timestamp": undefined }, "malformed_signature"],
    ["another timestamp", { ...TRIO, "webhook-timestamp": `${AT - 1}` }, "wrong_signature"],
    ["a Standard Webhooks signature in hex", { ...TRIO, "webhook-signature": `v1,${V1}` }, "malformed_signature"],
    ["one right header beside a wrong one", beside(`t=${AT},v1=${WRONG_V1}`), "wrong_signature"],
    ["one fresh header beside an old one", beside(`t=${AT - 400},v1=${V1}`), "timestamp_out_of_tolerance"],
  ];
  for (const [what, headers, why, options] of refused) {
    test(`refuses ${what}`, async () => assert.equal(await reason(headers, options), why));
  }

  test("accepts Headers of another implementation", async () => {
    const values: Record<string, string> = { ...TRIO, "x-service-signature": SERVICE };
    // As node-fetch and jsdom have them: no own properties.
    class OtherHeaders {
      get(name: string): string | null {
        return values[name.toLowerCase()] ?? null;
      }
    }
    const headers = new OtherHeaders() as unknown as Headers;
    assert.deepEqual(await verify(headers), { ok: true, timestamp: AT, id: "evt_1" });
  });

  test("refuses old signatures when the tolerance or the clock is not a number", async () => {
    for (const options of [{ toleranceSeconds: NaN, nowMs: (AT + 86_400) * 1000 }, { nowMs: NaN }]) {
      assert.equal(await reason(SERVICE, options), "timestamp_out_of_tolerance");
    }
  });

  test("throws for a secret with a line break at its end, as read from a file, in either form", async () => {
    for (const headers of [SERVICE, TRIO]) {
      for (const secret of [`${SECRET}\n`, [SECRET, `${SECRET}\n`], ""]) {
        await assert.rejects(verify(headers, { secret }), TypeError);
      }
    }
  });

  test("throws a clear error for a parsed body, and for an unset secret", async () => {
    const wrong: [options: object, message: RegExp][] = [
      [{ body: JSON.parse('{"a":1}') }, /body must be the raw bytes or text .*; got an object/],
      [{ body: undefined }, /body must be .*; got undefined/],
      [{ secret: undefined }, /secret must be whsec_ .*; got undefined/],
      [{ secret: [SECRET, undefined] }, /secret must be .*; got undefined/],
      [{ secret: 42 }, /secret must be .*; got a number/],
    ];
    for (const [options, message] of wrong) {
      await assert.rejects(verify(SERVICE, options), { name: "TypeError", message });
    }
  });

  test("throws for an invalid secret, without repeating it", async () => {
    for (const secret of ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_?"]) {
      const error = await verify(TRIO, { secret }).then(() => assert.fail("nothing was thrown"), (error) => error);
      assert.ok(error instanceof TypeError && !error.message.includes(secret), String(error));
    }
  });
});
