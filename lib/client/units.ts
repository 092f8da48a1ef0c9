/** Digits after the decimal point of lumens and of every classic asset; other tokens have `decimals()`. */
const DECIMALS = 7;

/**
 * Converts an amount to the asset's smallest unit, as the gateway expects it: `toUnits("4.5")` is `"45000000"`.
 * @throws {RangeError} when `amount` is no decimal number or has too many decimals, or `decimals` is no whole number
 */
export function toUnits(amount: string, decimals = DECIMALS): string {
  requireDecimals(decimals);
  const [, whole, fraction = ""] = /^(\d{1,39})(?:\.(\d+))?$/.exec(amount) ?? [];
  if (whole === undefined) {
    throw new RangeError(`an amount must be digits with at most one point, got ${shown(amount)}`);
  }
  if (fraction.length > decimals) {
    throw new RangeError(`an amount has at most ${decimals} digits after the point, got ${shown(amount)}`);
  }
  return BigInt(whole + fraction.padEnd(decimals, "0")).toString();
}

/**
 * Converts an amount of the gateway for people: `fromUnits("45000000")` is `"4.5"`.
 * @throws {RangeError} when `units` or `decimals` is no whole number
 */
export function fromUnits(units: string | bigint, decimals = DECIMALS): string {
  requireDecimals(decimals);
  const text = String(units);
  if (!/^-?\d{1,39}$/.test(text)) throw new RangeError(`units must be a whole number, got ${shown(text)}`);
  const digits = text.replace("-", "").padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals).replace(/^0+(?=\d)/, "");
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "");
  return `${text.startsWith("-") ? "-" : ""}${whole}${fraction && `.${fraction}`}`;
}

/** Rejects NaN, as from an unset variable, which would make an amount ten million times too small. */
function requireDecimals(decimals: number): void {
  if (Number.isInteger(decimals) && decimals >= 0) return;
  throw new RangeError(`decimals must be a whole number, got ${decimals}`);
}

function shown(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}
