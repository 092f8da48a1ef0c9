/** The secrets key is missing, malformed or not the one that the store's secrets were sealed with. */
export class SecretsKeyError extends Error {
  override name = "SecretsKeyError";
}

/** Keeps subscription secrets encrypted, or plain when there is no key. */
export interface SecretBox {
  /** Whether there is a key: `seal` encrypts. */
  readonly seals: boolean;
  /** The form to store: `sealed:v1:…` bound to this subscription, or the plain secret when there is no key. */
  seal(subscriptionId: string, plain: string): string;
  /**
   * The plain secret of what was stored, sealed or plain.
   * @throws {SecretsKeyError} when it is sealed with another key, for another subscription, or damaged.
   */
  open(subscriptionId: string, stored: string): string;
  /** Whether it is sealed with this very key (`seal` would change nothing but the nonce); without a key: whether it is plain. */
  isCurrent(stored: string): boolean;
  /** What to keep in the store to tell a wrong key by; undefined without a key. */
  checkText(): string | undefined;
  /**
   * Compares the key with what the store keeps (undefined: its secrets are plain): `same`, or `plain` when there is a key
   * but the secrets are not sealed yet.
   * @throws {SecretsKeyError} when the store's secrets can't be opened with this key, or there is none.
   */
  compare(storedCheck: string | undefined): "same" | "plain";
}
