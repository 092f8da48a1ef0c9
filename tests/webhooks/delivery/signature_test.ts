// needs: runtime
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createSecret, signatureHeaders, signingSecret } from "../../../lib/webhooks/delivery/signature.ts";

/*
 * Computed by openssl:
 *   printf '%s.%s' "$T" "$BODY" | openssl dgst -sha256 -mac HMAC -macopt key:"$SECRET"
 *   printf '%s.%s.%s' "$ID" "$T" "$BODY" | openssl dgst -sha256 -mac HMAC -binary \
 *     -macopt hexkey:$(printf '%s' "${SECRET#whsec_}" | base64 -d | xxd -p -c 99) | base64
 */
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OLD_SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const BODY =
  '{"subscription":"wh_1","event":{"type":"payment.claimed","id":"evt_1","merchant":"Zürich","amount":"10"}}';
const AT = 1_767_225_600;

describe("signatureHeaders", () => {
  test("signs as openssl does", () => {
    assert.deepEqual(
      signatureHeaders({ secrets: [signingSecret(SECRET)], eventId: "evt_1", body: BODY, nowMs: AT * 1000 }),
      {
        "X-Service-Signature": `t=${AT},v1=51253e2fa174f39c084f65a986bce5afe6011e9c2d429a5a3131e2e272a6911b`,
        "webhook-id": "evt_1",
        "webhook-timestamp": `${AT}`,
        "webhook-signature": "v1,FEhDANYl2th9/1shaOIrsRkWD/QrowCEMBogll4j7GU=",
      },
    );
  });

  test("signs with both secrets during a rotation, the newer first", () => {
    const secrets = [SECRET, OLD_SECRET].map(signingSecret);
    const headers = signatureHeaders({ secrets, eventId: "evt_1", body: BODY, nowMs: AT * 1000 });
    assert.equal(
      headers["X-Service-Signature"],
      `t=${AT},v1=51253e2fa174f39c084f65a986bce5afe6011e9c2d429a5a3131e2e272a6911b` +
        ",v1=c9455019525a56a012399b3c94dc0268be45789dd583239cc0abedb7ca08807e",
    );
    assert.equal(
      headers["webhook-signature"],
      "v1,FEhDANYl2th9/1shaOIrsRkWD/QrowCEMBogll4j7GU= v1,Tuk1AJtbzfIpEysjeq4HA65QTsOi8Qw3EAxOQcJDzWA=",
    );
  });

  test("agrees with the example that the Standard Webhooks libraries test themselves with", () => {
    const headers = signatureHeaders({
      secrets: [signingSecret(SECRET)],
      eventId: "msg_p5jXN8AQM9LWM0D4loKWxJek",
      body: '{"test": 2432232314}',
      nowMs: 1_614_265_330_000,
    });
    assert.equal(headers["webhook-signature"], "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  });

  test("agrees with the runtime's own HMAC for keys and texts of every length", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.string({ unit: "binary" }), (key, body) => {
        const secret = `whsec_${btoa(String.fromCharCode(...key))}`;
        const headers = signatureHeaders({ secrets: [signingSecret(secret)], eventId: "e", body, nowMs: 1_000 });
        const service = createHmac("sha256", secret).update(`1.${body}`).digest("hex");
        assert.equal(headers["X-Service-Signature"], `t=1,v1=${service}`);
        const standard = createHmac("sha256", key).update(`e.1.${body}`).digest("base64");
        assert.equal(headers["webhook-signature"], `v1,${standard}`);
      }),
    );
  });

  test("signs every text with one secret correctly, the first and later ones", () => {
    const secrets = [signingSecret(SECRET)];
    const sign = (body: string) => signatureHeaders({ secrets, eventId: "evt_1", body, nowMs: AT * 1000 });
    const first = sign(BODY);
    sign("something else");
    assert.deepEqual(sign(BODY), first);
  });

  test("rounds the time down to whole seconds", () => {
    const secrets = [signingSecret(SECRET)];
    const headers = signatureHeaders({ secrets, eventId: "evt_1", body: BODY, nowMs: AT * 1000 + 999 });
    assert.equal(headers["webhook-timestamp"], `${AT}`);
  });
});

describe("createSecret", () => {
  test("is whsec_ and the base64 of 32 random bytes", () => {
    const lengths: number[] = [];
    const secret = createSecret((length) => {
      lengths.push(length);
      return new Uint8Array(length).fill(255);
    });
    assert.equal(secret, "whsec_//////////////////////////////////////////8=");
    assert.deepEqual(lengths, [32]);
  });
});
