/** Writes `lib/client/api_types.ts`: `bun tests/client/make_api_types.ts` or `deno run -A tests/client/make_api_types.ts`. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiTypes } from "./api_types.ts";

writeFileSync(join(import.meta.dirname!, "../../lib/client/api_types.ts"), apiTypes());
