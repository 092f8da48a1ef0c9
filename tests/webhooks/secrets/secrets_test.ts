import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createSecretBox, SecretsKeyError } from "../../../lib/webhooks/secrets/secrets.ts";

const KEY = "4p4XzhyqRt1sM0mFSjgxbV7YqEtDTvXXMlS9mRkNz30=";
const OTHER_KEY = "a".repeat(64);
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const box = createSecretBox(KEY);
const otherBox = createSecretBox(OTHER_KEY);
const plainBox = createSecretBox(undefined);

describe("a secret box with a key", () => {
  test("seals so that nothing of the secret shows, each time differently, and opens again", () => {
    const sealed = box.seal("wh_1", SECRET);
    assert.match(sealed, /^sealed:v1:[0-9a-f]{12}:[\w-]{16}:[\w-]+$/);
    assert.ok(!sealed.includes(SECRET.slice(6, 16)));
    assert.notEqual(box.seal("wh_1", SECRET), sealed);
    assert.equal(box.open("wh_1", sealed), SECRET);
  });

  test("opens with the same key in hex or base64, padded or not", () => {
    const sealed = box.seal("wh_1", SECRET);
    const bytes = Uint8Array.from(atob(KEY), (char) => char.charCodeAt(0));
    const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    for (const key of [hex, hex.toUpperCase(), KEY.replace("=", ""), ` ${KEY}\n`]) {
      assert.equal(createSecretBox(key).open("wh_1", sealed), SECRET);
    }
  });

  test("does not open what was sealed for another subscription", () => {
    assert.throws(() => box.open("wh_2", box.seal("wh_1", SECRET)), SecretsKeyError);
  });

  test("does not open what was changed, in any character", () => {
    const sealed = box.seal("wh_1", SECRET);
    for (let at = 0; at < sealed.length - 1; at++) {
      const changed = sealed.slice(0, at) + (sealed[at] === "A" ? "B" : "A") + sealed.slice(at + 1);
      if (changed.startsWith("sealed:")) assert.throws(() => box.open("wh_1", changed), SecretsKeyError, `at ${at}`);
    }
    assert.throws(() => box.open("wh_1", sealed.slice(0, -4)), SecretsKeyError);
    assert.throws(() => box.open("wh_1", sealed.slice(0, 45)), SecretsKeyError);
  });

  test("hands out a plain secret as it is, and says that it is not current", () => {
    assert.equal(box.open("wh_1", SECRET), SECRET);
    assert.equal(box.isCurrent(SECRET), false);
    assert.equal(box.isCurrent(box.seal("wh_1", SECRET)), true);
    assert.equal(box.isCurrent(otherBox.seal("wh_1", SECRET)), false);
    assert.ok(box.seals);
  });

  test("says that the key is another one, not that something is damaged", () => {
    assert.throws(() => box.open("wh_1", otherBox.seal("wh_1", SECRET)), /SERVICE_API_SECRETS_KEY is not the key/);
  });
});

describe("a secret box without a key", () => {
  test("keeps secrets plain", () => {
    assert.equal(plainBox.seal("wh_1", SECRET), SECRET);
    assert.equal(plainBox.open("wh_1", SECRET), SECRET);
    assert.equal(plainBox.isCurrent(SECRET), true);
    assert.equal(plainBox.isCurrent(box.seal("wh_1", SECRET)), false);
    assert.equal(plainBox.checkText(), undefined);
    assert.ok(!plainBox.seals);
  });

  test("asks for the key of what is sealed", () => {
    assert.throws(() => plainBox.open("wh_1", box.seal("wh_1", SECRET)), /SERVICE_API_SECRETS_KEY is not set/);
  });
});

describe("at the start", () => {
  test("the key is the same as before", () => {
    assert.equal(box.compare(box.checkText()), "same");
    assert.equal(plainBox.compare(undefined), "same");
  });

  test("a first key finds secrets that are plain", () => assert.equal(box.compare(undefined), "plain"));

  test("another key, or none, is refused", () => {
    assert.throws(() => otherBox.compare(box.checkText()), /SERVICE_API_SECRETS_KEY is not the key/);
    assert.throws(() => plainBox.compare(box.checkText()), /SERVICE_API_SECRETS_KEY is not set/);
    assert.throws(() => box.compare(`${box.checkText()!.slice(0, -4)}AAAA`), SecretsKeyError);
  });

  const wrong = ["", "short", "a".repeat(63), "g".repeat(64), "a".repeat(65), KEY.slice(2), `${KEY}AA`, "-".repeat(32)];
  for (const key of wrong) {
    test(`a key of ${key.length} characters such as ${JSON.stringify(key.slice(0, 5))}… is refused without being shown`, () => {
      assert.throws(() => createSecretBox(key), (error: Error) => {
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
