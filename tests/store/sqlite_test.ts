// needs: runtime
import { describeStore } from "./store_contract.ts";

describeStore("sqlite", true, (directory) => `sqlite:${directory}/gateway.db`);
describeStore("memory", false, () => "memory:");
