// An endpoint for the delivery figures: answers every POST with 200; GET says how many it heard.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";

let heard = 0;
const server = createServer((request, response) => {
  request.on("data", () => {});
  request.on("end", () => {
    if (request.method === "GET") {
      response.end(String(heard));
      return;
    }
    heard++;
    response.end("ok");
  });
});
server.keepAliveTimeout = 60_000;
server.listen(
  0,
  "127.0.0.1",
  () => process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`),
);
