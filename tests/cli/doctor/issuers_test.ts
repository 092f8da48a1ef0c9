// needs: neutral
import { Asset, Operation } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { flags, IMMUTABLE } from "../../sandbox/asset_network.ts";
import { applyNow, classicNow, issueNow } from "../../sandbox/past_the_gateway.ts";
import { doctorOfFile, says } from "./stage.ts";

const doctor = doctorOfFile();

describe("doctor: issuers", () => {
  test("names the assets whose issuers can freeze or claw back what the escrow holds", async () => {
    const { sandbox: { network, contracts, account } } = doctor;
    const [strict, mild] = [await account(), await account()];
    const dollars = issueNow(network, strict, "USDollars");
    const euros = new Asset("EUR", mild.publicKey());
    applyNow(network, mild, Operation.createStellarAssetContract({ asset: euros }));
    classicNow(network, mild, flags(IMMUTABLE));
    const harmless = `native,EUR:${mild.publicKey()}`;
    says(await doctor.finding("asset issuers", { assets: harmless }), "ok", /^no issuer can freeze or claw back/);

    const named = `USDollars:${strict.publicKey()}`;
    const both = await doctor.finding("asset issuers", { assets: `${harmless},${named}` });
    says(both, "warn", /^USDollars:G\w+: its issuer can claw back and freeze what the escrow holds$/);
    dollars.mint(contracts.paymentEscrow, 5n);
    const byContract = await doctor.finding("asset issuers", { assets: dollars.contract });
    says(byContract, "warn", new RegExp(`^${dollars.contract}: its issuer can claw back and freeze`));
    assert.equal((await doctor.finding("asset issuers")).verdict, "skip");
  });
});
