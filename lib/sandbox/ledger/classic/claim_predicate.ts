import { xdr } from "@stellar/stellar-sdk";
import { INT64_MAX } from "../protocol.ts";

/** The conditions of claimants of claimable balances (CAP-23). Times are Unix seconds. */

const MAX_DEPTH = 4;

/** Whether a predicate is well formed: two sides of `and` and `or`, one of `not`, no time before 1970, not too deep. */
export function isValidPredicate(predicate: xdr.ClaimPredicate, depth = 1): boolean {
  if (depth > MAX_DEPTH) return false;
  const areValid = (predicates: xdr.ClaimPredicate[]) =>
    predicates.length === 2 && predicates.every((part) => isValidPredicate(part, depth + 1));
  switch (predicate.type) {
    case "claimPredicateUnconditional":
      return true;
    case "claimPredicateAnd":
      return areValid(predicate.andPredicates);
    case "claimPredicateOr":
      return areValid(predicate.orPredicates);
    case "claimPredicateNot":
      return predicate.notPredicate !== null && isValidPredicate(predicate.notPredicate, depth + 1);
    case "claimPredicateBeforeAbsoluteTime":
      return predicate.absBefore >= 0n;
    case "claimPredicateBeforeRelativeTime":
      return predicate.relBefore >= 0n;
  }
}

/** The predicate with absolute times instead of those relative to `closeTime`, as the ledger stores it. */
export function absolutePredicate(predicate: xdr.ClaimPredicate, closeTime: number): xdr.ClaimPredicate {
  const absolute = (part: xdr.ClaimPredicate) => absolutePredicate(part, closeTime);
  switch (predicate.type) {
    case "claimPredicateAnd":
      return xdr.ClaimPredicate.claimPredicateAnd(predicate.andPredicates.map(absolute));
    case "claimPredicateOr":
      return xdr.ClaimPredicate.claimPredicateOr(predicate.orPredicates.map(absolute));
    case "claimPredicateNot":
      return xdr.ClaimPredicate.claimPredicateNot(predicate.notPredicate && absolute(predicate.notPredicate));
    case "claimPredicateBeforeRelativeTime": {
      const before = BigInt(closeTime) + predicate.relBefore;
      return xdr.ClaimPredicate.claimPredicateBeforeAbsoluteTime(before > INT64_MAX ? INT64_MAX : before);
    }
    default:
      return predicate;
  }
}

/** Whether a predicate of `absolutePredicate` holds for a ledger that closes at this time. */
export function holds(predicate: xdr.ClaimPredicate, closeTime: number): boolean {
  switch (predicate.type) {
    case "claimPredicateUnconditional":
      return true;
    case "claimPredicateAnd":
      return predicate.andPredicates.every((part) => holds(part, closeTime));
    case "claimPredicateOr":
      return predicate.orPredicates.some((part) => holds(part, closeTime));
    case "claimPredicateNot":
      return predicate.notPredicate === null || !holds(predicate.notPredicate, closeTime);
    case "claimPredicateBeforeAbsoluteTime":
      return predicate.absBefore > BigInt(closeTime);
    case "claimPredicateBeforeRelativeTime":
      throw new Error("a claimable balance in the ledger has a relative time");
  }
}
