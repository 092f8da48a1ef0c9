// needs: runtime
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createSecretCipher, SecretsKeyError } from "../../../lib/webhooks/secrets/secrets.ts";

const KEY = "4p4XzhyqRt1sM0mFSjgxbV7YqEtDTvXXMlS9mRkNz30=";
const OTHER_KEY = "a".repeat(64);
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const cipher = createSecretCipher(KEY);
const otherCipher = createSecretCipher(OTHER_KEY);
const plainCipher = createSecretCipher(undefined);

describe("secrets with a key", () => {
  test("the cipher seals a secret differently each time, hides it, and opens it again", () => {
    const sealed = cipher.seal("wh_1", SECRET);
    assert.match(sealed, /^sealed:v1:[0-9a-f]{12}:[\w-]{16}:[\w-]+$/);
    assert.ok(!sealed.includes(SECRET.slice(6, 16)));
    assert.notEqual(cipher.seal("wh_1", SECRET), sealed);
    assert.equal(cipher.open("wh_1", sealed), SECRET);
  });

  test("the same key in hex or base64, padded or not, opens a sealed secret", () => {
    const sealed = cipher.seal("wh_1", SECRET);
    const bytes = Uint8Array.from(atob(KEY), (char) => char.charCodeAt(0));
    const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    for (const key of [hex, hex.toUpperCase(), KEY.replace("=", ""), ` ${KEY}\n`]) {
      assert.equal(createSecretCipher(key).open("wh_1", sealed), SECRET);
    }
  });

  test("the cipher does not open a secret that was sealed for another webhook", () => {
    assert.throws(() => cipher.open("wh_2", cipher.seal("wh_1", SECRET)), SecretsKeyError);
  });

  test("the cipher does not open a sealed secret with one changed character", () => {
    const sealed = cipher.seal("wh_1", SECRET);
    for (let at = 0; at < sealed.length - 1; at++) {
      const changed = sealed.slice(0, at) + (sealed[at] === "A" ? "B" : "A") + sealed.slice(at + 1);
      if (changed.startsWith("sealed:")) assert.throws(() => cipher.open("wh_1", changed), SecretsKeyError, `at ${at}`);
    }
    assert.throws(() => cipher.open("wh_1", sealed.slice(0, -4)), SecretsKeyError);
    assert.throws(() => cipher.open("wh_1", sealed.slice(0, 45)), SecretsKeyError);
  });

  test("the cipher returns a plain secret, and reports that it is not current", () => {
    assert.equal(cipher.open("wh_1", SECRET), SECRET);
    assert.equal(cipher.isCurrent(SECRET), false);
    assert.equal(cipher.isCurrent(cipher.seal("wh_1", SECRET)), true);
    assert.equal(cipher.isCurrent(otherCipher.seal("wh_1", SECRET)), false);
    assert.ok(cipher.seals);
  });

  test("the error for another key names SERVICE_API_SECRETS_KEY, not damage", () => {
    assert.throws(
      () => cipher.open("wh_1", otherCipher.seal("wh_1", SECRET)),
      /SERVICE_API_SECRETS_KEY is not the key/,
    );
  });
});

describe("secrets without a key", () => {
  test("the cipher keeps secrets plain", () => {
    assert.equal(plainCipher.seal("wh_1", SECRET), SECRET);
    assert.equal(plainCipher.open("wh_1", SECRET), SECRET);
    assert.equal(plainCipher.isCurrent(SECRET), true);
    assert.equal(plainCipher.isCurrent(cipher.seal("wh_1", SECRET)), false);
    assert.equal(plainCipher.checkText(), undefined);
    assert.ok(!plainCipher.seals);
  });

  test("the error for a sealed secret names the missing key", () => {
    assert.throws(() => plainCipher.open("wh_1", cipher.seal("wh_1", SECRET)), /SERVICE_API_SECRETS_KEY is not set/);
  });
});

describe("at the start", () => {
  test('compare returns "same" for the key of the store', () => {
    assert.equal(cipher.compare(cipher.checkText()), "same");
    assert.equal(plainCipher.compare(undefined), "same");
  });

  test('compare returns "plain" for the first key', () => assert.equal(cipher.compare(undefined), "plain"));

  test("compare throws for another key, and without a key", () => {
    assert.throws(() => otherCipher.compare(cipher.checkText()), /SERVICE_API_SECRETS_KEY is not the key/);
    assert.throws(() => plainCipher.compare(cipher.checkText()), /SERVICE_API_SECRETS_KEY is not set/);
    assert.throws(() => cipher.compare(`${cipher.checkText()!.slice(0, -4)}AAAA`), SecretsKeyError);
  });

  const wrong = ["", "short", "a".repeat(63), "g".repeat(64), "a".repeat(65), KEY.slice(2), `${KEY}AA`, "-".repeat(32)];
  for (const key of wrong) {
    test(`an invalid key of ${key.length} characters (${JSON.stringify(key.slice(0, 5))}…) is rejected, and the error does not quote it`, () => {
      assert.throws(() => createSecretCipher(key), (error: Error) => {
        assert.ok(error instanceof SecretsKeyError);
        assert.match(
          error.message,
          /^SERVICE_API_SECRETS_KEY must be 32 bytes in base64 or hex, .*openssl rand -base64 32/,
        );
        assert.ok(key === "" || !error.message.includes(key));
        return true;
      });
    });
  }
});
