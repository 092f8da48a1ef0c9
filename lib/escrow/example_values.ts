/**
 * The values that the API description shows in its examples: one card with its accounts, on a sandbox's network. A running
 * sandbox shows its own accounts and contracts instead.
 */
export const EXAMPLE = {
  owner: "GA5JVYGJTD2FGU2DY77HQTNVP2JHGRQ6ZQVY3JD3MKPHK6EKXZNG6LD6",
  agent: "GCTDKNFPTQ5JZXKKG5EM2M7TRLYCVSK55XKEQHG7D5NHO6KUXOQQYJGQ",
  merchant: "GCJQK7KSRXDZFSXA6AVZ6MMAQJZEDU6GZCQG744KJOLPBB7QGP4VNEE6",
  asset: "CCXPFFRMURLFG5U5PIVC7CKUVBCCSVZ44RW4ELY2O7MP7PSGFRVKP76A",
  deviceRegistry: "CD2IS5A3KNF3XUWGHL2GSMKJIX5AIWWIP2E2YOPIFTLMXDHSTW3LKXW7",
  agentRegistry: "CACJUI4PDSJDQVHVDS7ORIEEIBXSCWCHJYW4CCUJ3JBX6PEUOBRPFRPH",
  paymentEscrow: "CCDSPBZKDTPYYK634IBOPTIBK2R52BAHX5F3XEA5JFLGCH43VIQZFM3H",
  receiver: "https://shop.example.com",
  deviceHash: "ee055ae7173c40c722d63669c0b1a293a765323c9a476466664ccc94329c0451",
  txHash: "ec726dacf2cfe6e23f8a7ede1fbf976bc22ff5155a4e7a6d034664d657d2f1d7",
  eventId: "0000000068719480832-0000000000",
  ledger: 16,
  time: "2026-11-28T06:12:29Z",
  unixSeconds: 1795846349,
};

const NETWORK_VALUES = [
  "owner",
  "agent",
  "merchant",
  "asset",
  "deviceRegistry",
  "agentRegistry",
  "paymentEscrow",
  "receiver",
] as const;

/** The example values that differ from one network to another; `receiver` is the origin of a webhook's URL. */
export type NetworkExample = Record<(typeof NETWORK_VALUES)[number], string>;

/** The text with the values of one network replaced by those of another. */
export function withValuesOf(to: NetworkExample, text: string, from: NetworkExample = EXAMPLE): string {
  return NETWORK_VALUES.reduce((all, name) => all.replaceAll(from[name], to[name]), text);
}
