import { Hono } from "hono";
import { z } from "zod";
import { address, deviceHash } from "../../escrow/values.ts";
import { endpoint } from "../endpoint.ts";
import type { AppEnv } from "../exchange.ts";

/** A wallet's cards. */
export const wallets = new Hono<AppEnv>()
  .get(
    "/v1/wallets/:address/devices",
    endpoint({
      operationId: "listWalletDevices",
      scopes: ["read"],
      summary: "The devices of a wallet, in the registry's order",
      params: z.object({ address }),
      answer: z.object({ devices: z.array(deviceHash) }).meta({ id: "WalletDevices" }),
      errors: ["upstream_error"],
    }, async ({ params }, { reads }) => ({ devices: await reads.walletDevices(params.address) })),
  );
