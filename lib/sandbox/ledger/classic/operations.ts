import type { xdr } from "@stellar/stellar-sdk";
import { refusedOperation } from "../results.ts";
import {
  bumpSequence,
  checkAccountMerge,
  checkBumpSequence,
  checkManageData,
  manageData,
  mergeAccount,
} from "./account_operations.ts";
import {
  checkCreateClaimableBalance,
  claimClaimableBalance,
  clawbackClaimableBalance,
  createClaimableBalance,
} from "./claimable_balances.ts";
import { type OperationContext, type OperationOutcome, refusal } from "./operation.ts";
import { checkClawback, checkCreateAccount, checkPayment, clawback, createAccount, pay } from "./payments.ts";
import { checkSetOptions, setOptions } from "./set_options.ts";
import {
  beginSponsoring,
  checkBeginSponsoring,
  checkRevokeSponsorship,
  endSponsoring,
  revokeSponsorship,
} from "./sponsorship.ts";
import {
  allowTrust,
  changeTrust,
  checkAllowTrust,
  checkChangeTrust,
  checkSetTrustLineFlags,
  setTrustLineFlags,
} from "./trust.ts";

/*
 * The classic operations of the sandbox on accounts and assets, as in stellar-core of protocol 28. The sandbox refuses these
 * with opNOT_SUPPORTED: offers (manageSellOffer, manageBuyOffer, createPassiveSellOffer), path payments, liquidity pools and
 * trustlines for their shares. Every network since protocol 12 refuses inflation with that code.
 */

/** Checks an operation without the ledger. Returns the OperationResult of a refusal, else undefined. */
export function checkClassicOperation(body: xdr.OperationBody, source: Uint8Array): Uint8Array | undefined {
  switch (body.type) {
    case "createAccount":
      return checkCreateAccount(body.createAccountOp, source);
    case "payment":
      return checkPayment(body.paymentOp);
    case "setOptions":
      return checkSetOptions(body.setOptionsOp, source);
    case "changeTrust":
      return checkChangeTrust(body.changeTrustOp, source);
    case "allowTrust":
      return checkAllowTrust(body.allowTrustOp, source);
    case "accountMerge":
      return checkAccountMerge(body.destination, source);
    case "manageData":
      return checkManageData(body.manageDataOp);
    case "bumpSequence":
      return checkBumpSequence(body.bumpSequenceOp);
    case "createClaimableBalance":
      return checkCreateClaimableBalance(body.createClaimableBalanceOp);
    case "claimClaimableBalance":
    case "clawbackClaimableBalance":
    case "endSponsoringFutureReserves":
      return undefined;
    case "beginSponsoringFutureReserves":
      return checkBeginSponsoring(body.beginSponsoringFutureReservesOp, source);
    case "revokeSponsorship":
      return checkRevokeSponsorship(body.revokeSponsorshipOp);
    case "clawback":
      return checkClawback(body.clawbackOp, source);
    case "setTrustLineFlags":
      return checkSetTrustLineFlags(body.setTrustLineFlagsOp, source);
    default:
      return refusedOperation("opNOT_SUPPORTED");
  }
}

/** Applies an operation that passed `checkClassicOperation` and has a source. After a failure the caller drops the changes. */
export function applyClassicOperation(body: xdr.OperationBody, context: OperationContext): OperationOutcome {
  switch (body.type) {
    case "createAccount":
      return createAccount(body.createAccountOp, context);
    case "payment":
      return pay(body.paymentOp, context);
    case "setOptions":
      return setOptions(body.setOptionsOp, context);
    case "changeTrust":
      return changeTrust(body.changeTrustOp, context);
    case "allowTrust":
      return allowTrust(body.allowTrustOp, context);
    case "accountMerge":
      return mergeAccount(body.destination, context);
    case "manageData":
      return manageData(body.manageDataOp, context);
    case "bumpSequence":
      return bumpSequence(body.bumpSequenceOp, context);
    case "createClaimableBalance":
      return createClaimableBalance(body.createClaimableBalanceOp, context);
    case "claimClaimableBalance":
      return claimClaimableBalance(body.claimClaimableBalanceOp, context);
    case "beginSponsoringFutureReserves":
      return beginSponsoring(body.beginSponsoringFutureReservesOp, context);
    case "endSponsoringFutureReserves":
      return endSponsoring(context);
    case "revokeSponsorship":
      return revokeSponsorship(body.revokeSponsorshipOp, context);
    case "clawback":
      return clawback(body.clawbackOp, context);
    case "clawbackClaimableBalance":
      return clawbackClaimableBalance(body.clawbackClaimableBalanceOp, context);
    case "setTrustLineFlags":
      return setTrustLineFlags(body.setTrustLineFlagsOp, context);
    default:
      return refusal("opNOT_SUPPORTED");
  }
}
