import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";

/** The secrets key is missing, malformed, or not the one that the store's secrets were sealed with. */
export class SecretsKeyError extends Error {
  override name = "SecretsKeyError";
  readonly kind = "setting";
}

const SETTING = "SERVICE_API_SECRETS_KEY";
const HOW_TO_MAKE_ONE = "make one with: openssl rand -base64 32";
const FORMAT = "sealed:v1";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** The check text, and the id that it is bound to. No subscription has this id. */
const CHECK = "secrets check";

/**
 * How subscription secrets are stored: sealed with the key of `SERVICE_API_SECRETS_KEY`, or plain without one.
 * @param secretsKey 32 bytes in base64 or hex, undefined for plain secrets
 * @throws {SecretsKeyError} when it is anything else. The message never holds the key
 */
export function createSecretCipher(secretsKey: string | undefined) {
  const key = secretsKey === undefined ? undefined : parseKey(secretsKey);
  // Identifies the key; reveals nothing of its 256 random bits.
  const keyId = key === undefined ? undefined : createHmac("sha256", key).update("key id").digest("hex").slice(0, 12);

  /** The form to store. It opens only for this subscription. */
  function seal(boundTo: string, plain: string): string {
    if (key === undefined) return plain;
    const nonce = crypto.getRandomValues(Buffer.alloc(NONCE_BYTES));
    const cipher = createCipheriv("aes-256-gcm", key, nonce);
    cipher.setAAD(new TextEncoder().encode(boundTo));
    const sealed = Buffer.concat([cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return [FORMAT, keyId, nonce.toString("base64url"), sealed.toString("base64url")].join(":");
  }

  /**
   * Returns the plain secret of a stored one, sealed or plain.
   * @throws {SecretsKeyError} when it is sealed with another key, for another subscription, or damaged
   */
  function open(boundTo: string, stored: string): string {
    if (!stored.startsWith("sealed:")) return stored;
    const [, storedKeyId, nonce, sealed] = SEALED.exec(stored) ?? [];
    if (nonce === undefined || sealed === undefined) {
      throw new SecretsKeyError("a sealed secret in the store is damaged");
    }
    if (key === undefined) throw new SecretsKeyError(missing);
    if (storedKeyId !== keyId) throw new SecretsKeyError(another);
    const bytes = Buffer.from(sealed, "base64url");
    const decipher = createDecipheriv("aes-256-gcm", key, Buffer.from(nonce, "base64url"), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(new TextEncoder().encode(boundTo));
    try {
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      return decipher.update(bytes.subarray(0, -TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
    } catch (cause) {
      throw new SecretsKeyError("a sealed secret in the store is damaged", { cause });
    }
  }

  return {
    /** Whether there is a key, so that `seal` encrypts. */
    seals: key !== undefined,
    seal,
    open,
    /** Whether it is stored as `seal` would store it: sealed with this key or, without one, plain. */
    isCurrent: (stored: string) =>
      key === undefined ? !stored.startsWith("sealed:") : stored.startsWith(`${FORMAT}:${keyId}:`),
    /** A text to store, which recognises another key at the next start; undefined without a key. */
    checkText: () => key === undefined ? undefined : seal(CHECK, CHECK),
    /**
     * Compares with the stored check text, undefined when the store's secrets are plain. `same`: go on. `plain`: there
     * is a key now, and the store's secrets have to be sealed.
     * @throws {SecretsKeyError} when the store's secrets are sealed with another key, or with one and there is none
     */
    compare(storedCheck: string | undefined): "same" | "plain" {
      if (storedCheck === undefined) return key === undefined ? "same" : "plain";
      if (key === undefined) throw new SecretsKeyError(missing);
      open(CHECK, storedCheck);
      return "same";
    },
  };
}

export type SecretCipher = ReturnType<typeof createSecretCipher>;

const SEALED = new RegExp(`^${FORMAT}:([0-9a-f]{12}):([\\w-]{16}):([\\w-]{22,})$`);

const missing = `${SETTING} is not set, but the webhook secrets in the store are sealed with a key; set it to that key`;
const another = `${SETTING} is not the key of the webhook secrets in the store; set it to that key`;

function parseKey(text: string): Uint8Array {
  const trimmed = text.trim();
  const isHex = /^[0-9a-f]{64}$/i.test(trimmed);
  const isBase64 = /^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed);
  if (isHex) return Buffer.from(trimmed, "hex");
  const key = isBase64 ? Buffer.from(trimmed, "base64") : undefined;
  if (key?.length === KEY_BYTES) return key;
  throw new SecretsKeyError(
    `${SETTING} must be ${KEY_BYTES} bytes in base64 or hex, got ${trimmed.length} characters that are neither; ${HOW_TO_MAKE_ONE}`,
  );
}
