import { Keypair } from "@stellar/stellar-sdk";
import { sha256 } from "../../lib/sandbox/ledger/bytes.ts";

export const hashOf = (name: string): Uint8Array => sha256(new TextEncoder().encode(name));

/** A keypair that is the same in every run. */
export const keypair = (name: string): Keypair => Keypair.fromRawEd25519Seed(hashOf(name));

export const [alice, bob, carol, issuer] = [keypair("alice"), keypair("bob"), keypair("carol"), keypair("issuer")];
