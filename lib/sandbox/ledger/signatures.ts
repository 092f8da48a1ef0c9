import { Buffer } from "node:buffer";
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import type { xdr } from "@stellar/stellar-sdk";
import { keyOf, sameBytes, sha256 } from "./bytes.ts";
import { MAX_SIGNER_WEIGHT } from "./protocol.ts";

/** Whether an Ed25519 signature is valid. */
export type VerifySignature = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean;

const SPKI_ED25519_PREFIX = Uint8Array.of(0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0);
const REMEMBERED_SIGNATURES = 4_096;
const REMEMBERED_KEYS = 1_024;

/** Verifies with the runtime's Ed25519. Caches the last answers, because an envelope is checked at submit and at apply. */
export function createSignatureVerifier(): VerifySignature {
  const known = new Map<string, boolean>();
  const verifyEd25519 = createVerifier();
  return (publicKey, message, signature) => {
    if (signature.length !== 64) return false;
    const key = keyOf(sha256(publicKey, signature, message));
    const answer = known.get(key) ?? verifyEd25519(publicKey, message, signature);
    known.set(key, answer);
    if (known.size > REMEMBERED_SIGNATURES) known.delete(known.keys().next().value as string);
    return answer;
  };
}

/** Caches the last key objects. Creating one takes about as long as a verification. */
function createVerifier(): VerifySignature {
  const keys = new Map<string, KeyObject>();
  return (publicKey, message, signature) => {
    try {
      const name = keyOf(publicKey);
      const key = keys.get(name) ?? keyObject(publicKey);
      keys.set(name, key);
      if (keys.size > REMEMBERED_KEYS) keys.delete(keys.keys().next().value as string);
      return verify(null, message, key, signature);
    } catch {
      return false; // The key is no point of the curve, so it has no valid signature.
    }
  };
}

function keyObject(publicKey: Uint8Array): KeyObject {
  const spki = Buffer.concat([SPKI_ED25519_PREFIX, publicKey]);
  return createPublicKey({ key: spki, format: "der", type: "spki" });
}

export interface WeightedSigner {
  key: xdr.SignerKey;
  weight: number;
}

/** The judgement of signatures. */
export interface SignatureRules {
  verify: VerifySignature;
  /** Whether this account (public key) needs no signature. */
  isImpersonated(publicKey: Uint8Array): boolean;
}

export type SignatureChecker = ReturnType<typeof createSignatureChecker>;

/** Adds up the weights of signers over one envelope's signatures, and records the used ones. */
export function createSignatureChecker(
  { verify: verifySignature, isImpersonated }: SignatureRules,
  hash: Uint8Array,
  signatures: xdr.DecoratedSignature[],
) {
  const used = signatures.map(() => false);
  /** A client that insists on a signature may then add any. */
  let isAnyGood = false;

  /** Counts the first matching signer of every signature, each signer once. Returns whether `add` was satisfied. */
  function addUp(signers: WeightedSigner[], add: (signer: WeightedSigner) => boolean): boolean {
    const left = [...signers];
    for (const [index, signature] of signatures.entries()) {
      const at = left.findIndex((signer) => signedBy(signer.key, signature));
      if (at < 0) continue;
      used[index] = true;
      const [signer] = left.splice(at, 1);
      if (signer && add(signer)) return true;
    }
    return false;
  }

  function signedBy(key: xdr.SignerKey, { hint, signature }: xdr.DecoratedSignature): boolean {
    const given = signature.value;
    switch (key.type) {
      case "signerKeyTypePreAuthTx":
        return false;
      case "signerKeyTypeHashX":
        return sameBytes(key.hashX.value.subarray(28), hint.value) && sameBytes(sha256(given), key.hashX.value);
      case "signerKeyTypeEd25519": {
        const publicKey = key.ed25519.value;
        return sameBytes(publicKey.subarray(28), hint.value) && verifySignature(publicKey, hash, given);
      }
      case "signerKeyTypeEd25519SignedPayload": {
        const publicKey = key.ed25519SignedPayload.ed25519.value;
        const payload = key.ed25519SignedPayload.payload;
        return sameBytes(payloadHint(publicKey, payload), hint.value) && verifySignature(publicKey, payload, given);
      }
    }
  }

  return {
    /**
     * Whether the weights of the signatures reach `needed`. At least one signature is necessary, even for 0.
     * @param account the account (public key) of these signers. Absent: signers of a transaction
     */
    check(signers: WeightedSigner[], needed: number, account?: Uint8Array): boolean {
      let weight = 0;
      const add = (signer: WeightedSigner) => {
        weight += Math.min(signer.weight, MAX_SIGNER_WEIGHT);
        return weight >= needed;
      };
      const authorizes = ({ key }: WeightedSigner) =>
        key.type === "signerKeyTypePreAuthTx" && sameBytes(key.preAuthTx.value, hash);
      return signers.filter(authorizes).some(add) ||
        SIGNED_TYPES.some((type) => addUp(signers.filter((signer) => signer.key.type === type), add)) ||
        (account !== undefined && isImpersonated(account) && (isAnyGood = true));
    },
    allUsed: () => isAnyGood || used.every(Boolean),
  };
}

const SIGNED_TYPES = ["signerKeyTypeHashX", "signerKeyTypeEd25519", "signerKeyTypeEd25519SignedPayload"] as const;

/** CAP-40: the key's hint XOR the last four bytes of the payload. A shorter payload is padded with zeros at its end. */
function payloadHint(publicKey: Uint8Array, payload: Uint8Array): Uint8Array {
  const hint = publicKey.slice(28);
  const start = Math.max(0, payload.length - 4);
  for (let i = 0; i < 4; i++) hint[i] = (hint[i] ?? 0) ^ (payload[start + i] ?? 0);
  return hint;
}
